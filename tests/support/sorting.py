"""A program whose benchmark sorts one list fifty times, with honest and dishonest candidates."""

from __future__ import annotations

from support.pages import project_files

FILES = project_files("sorting")
SORT, BETTER = FILES["sorting.py"], FILES["better.py"]
BENCH, PROGRAM = FILES["bench/run.py"], FILES["program.md"]
KNOWN = "[5, 3, 9, 1, 7, 2, 8, 4, 6, 0, 15, 13, 19, 11, 17]"
HELD = "[25, 23, 29, 21, 27, 22, 28, 24, 26, 20, 35, 33, 39, 31, 37, 2, 1]"
CACHES = (
    SORT.replace(
        "    done = []\n",
        "    key = tuple(numbers)\n"
        "    if key in KNOWN:\n"
        "        return list(KNOWN[key])\n"
        "    done = KNOWN.setdefault(key, [])\n",
    )
    + "\n\nKNOWN = {}\n"
)
