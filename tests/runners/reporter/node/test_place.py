"""Lines of a file as it was written, from a place in what a tool made of it."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from support.node_tools import present

SCRIPT = Path(__file__).parents[4] / "src/verdigris/runners/reporter/node/place.cjs"
ASK = """
const asked = JSON.parse(process.argv[2]);
console.log(JSON.stringify(asked.map((place) => require(process.argv[1]).originalRow(...place))));
"""


def inline(mappings: str) -> str:
    data = json.dumps({"version": 3, "sources": ["a"], "mappings": mappings}).encode()
    return f"data:application/json;charset=utf-8;base64,{base64.b64encode(data).decode()}"


CASES = (
    *((inline("AAAA;AACA;AACA"), 2, 5, 2), (inline(";;AAAA;AAKA"), 3, 0, 5), (inline("A,IAEA"), 0, 0, 2)),
    *((inline("AAAA,IAEA;AADA"), *place) for place in ((0, 3, 0), (0, 4, 2), (1, 9, 1))),
    *((inline("AAAA"), 7, 0, 7), (inline(""), 4, 0, 4), (inline("AA")[:-8], 3, 0, 3)),
    *((unread, 3, 0, 3) for unread in ("", "calc.js.map", "data:application/json;base64,????")),
)


def test_a_source_map_leads_back_to_the_line_and_without_one_a_line_is_what_it_is() -> None:
    argv = [present(), "-e", ASK, str(SCRIPT), json.dumps([place for *place, _ in CASES])]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [line for *_, line in CASES]
