"""The page of messages is the list of all rules of denials and kinds of concerns: it has each, and no other.

Verdicts and reasons why a test is no red are written from the code (`test_tables.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from verdigris.core.policy.cycle import SOURCE_WAITS
from verdigris.core.policy.next_move import RED_FIRST
from verdigris.core.state import Stage

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
KINDS = {
    row[1]
    for table in (ROOT / "src" / "verdigris" / "languages").rglob("concerns.txt")
    for row in re.finditer(r"^(?!measured-)([\w-]+)!? [\w -]+: ", table.read_text(), re.MULTILINE)
}
"""Kinds of concerns in the tables; those of a measured number are no concerns, a ratchet refuses them."""


def _first_words(function: str) -> frozenset[str]:
    """The texts that calls of a function are given first."""
    found = set()
    for path in (ROOT / "src" / "verdigris").rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if f"{function}(" in text else ():
            match node:
                case ast.Call(
                    func=ast.Name(id=name) | ast.Attribute(attr=name),
                    args=[ast.Constant(value=str(word)), *_],
                ):
                    if name == function:
                        found.add(word)
    return frozenset(found)


_STAGES = {f"cycle-{stage}" for stage in Stage}


@pytest.mark.parametrize(
    ("heading", "others", "rows", "functions"),
    [
        ("Denials", {RED_FIRST, SOURCE_WAITS, "red-…", "Read-only file system", *_STAGES}, set(), ("Deny",)),
        ("Concerns", set(), KINDS, ("Concern", "concern")),
    ],
)
def test_the_page_lists_what_the_code_says_and_nothing_else(
    heading: str, others: set[str], rows: set[str], functions: Sequence[str]
) -> None:
    """`rows`: those that a table has. `others`: those that are neither there nor a literal of a call."""
    sections = [part for part in PAGE.split("\n## ") if part.startswith(heading)]
    cells = [line.split("|")[1] for part in sections for line in part.splitlines() if line.startswith("| `")]
    listed = {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}
    called = [_first_words(function) for function in functions]
    assert all(called)
    assert listed - others == rows.union(*called) - others
