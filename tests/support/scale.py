"""The scale: how many lines each folder of `src/` and `tests/` weighs, against the table in `weights.txt`.

A folder may fall freely; `make weigh` then lowers its row. A row that rises names the ADR that allows it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "weights.txt"
_SPLIT = ("src/verdigris/languages", "src/verdigris/drivers", "src/verdigris/runners")
"""Folders whose own folders have a row each."""
_VERSIONS = 20
"""How many versions of the table are compared."""


class Row(NamedTuple):
    lines: int
    adr: str = ""
    """The number of the ADR that allowed the row to rise."""


def read_table(text: str) -> dict[str, Row]:
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {folder: Row(int(lines), *adr) for folder, lines, *adr in rows}


def row_of(path: str) -> str:
    """The folder in whose row a file is weighed."""
    parts = path.split("/")[:-1]
    depth = 2 if parts[0] == "tests" else 3
    return "/".join(parts[: depth + ("/".join(parts[:3]) in _SPLIT)])


def weigh(files: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """The lines of each folder, as `wc -l` counts them."""
    weights: dict[str, int] = {}
    for path in files:
        lines = (root / path).read_bytes().count(b"\n")
        weights[row_of(path)] = weights.get(row_of(path), 0) + lines
    return weights


def find_excess(table: Mapping[str, Row], weights: Mapping[str, int]) -> list[str]:
    """A sentence for each folder that weighs more than its row allows."""
    return [
        f"{folder} weighs {lines} lines; weights.txt allows {_lines_of(table, folder)}"
        for folder, lines in sorted(weights.items())
        if lines > _lines_of(table, folder)
    ]


def find_raised(before: Mapping[str, Row], after: Mapping[str, Row], adrs: Iterable[str]) -> list[str]:
    """A sentence for each row that rose and names no ADR."""
    numbers = {name[:4] for name in adrs}
    return [
        f"{folder} rose from {_lines_of(before, folder)} to {row.lines} and names no ADR"
        for folder, row in sorted(after.items())
        if row.lines > _lines_of(before, folder) and row.adr not in numbers
    ]


def _lines_of(table: Mapping[str, Row], folder: str) -> int:
    return table[folder].lines if folder in table else 0


def lowered(text: str, weights: Mapping[str, int]) -> str:
    """The table with each row at the folder's weight where it fell; rows of folders that are gone leave."""
    lines = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            lines.append(line)
            continue
        folder, allowed, *adr = line.split()
        if folder in weights:
            lines.append(" ".join([folder, str(min(int(allowed), weights[folder])), *adr]))
    return "\n".join(lines) + "\n"


def python_files() -> list[str]:
    """The Python files that git has or would add."""
    asked = ("ls-files", "-co", "--exclude-standard", "--", "src/*.py", "tests/*.py")
    return [path for path in _git(*asked).splitlines() if (ROOT / path).is_file()]


def earlier_tables() -> list[str]:
    """The versions of the table that git has, the newest first."""
    commits = _git("log", "--first-parent", f"-{_VERSIONS}", "--format=%H", "--", TABLE.name).split()
    return [_git("show", f"{commit}:{TABLE.name}") for commit in commits]


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    now = weigh(python_files())
    TABLE.write_text(lowered(TABLE.read_text(), now))
    table = read_table(TABLE.read_text())
    src, tests = (sum(n for f, n in now.items() if f.startswith(top)) for top in ("src", "tests"))
    excess = find_excess(table, now)
    sys.stdout.write("\n".join([f"src {src} lines, tests {tests}", *excess, ""]))
    sys.exit(bool(excess))
