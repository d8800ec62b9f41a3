from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.languages.concern_rules import Hit, added_concerns, read_rules
from verdigris.languages.findings import Concern

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.languages.concern_rules import Rules

pytestmark = pytest.mark.quick
TABLE = """\
# A comment.
ends =
    (?:exit
    |abort)\\(
exits! call: `{node}` ends the process
    os\\.{ends}

exits call name: `{node}` may end it
    {ends}|os
patches call: `{node}` changes {owner}
    (?P<owner>{library})\\.
"""


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    file = tmp_path / "concerns.txt"
    file.write_text(TABLE)
    return read_rules(file, library="os|sys")


@pytest.mark.parametrize(
    ("shape", "text", "rows"),
    [
        (
            "call",
            "os.abort()",
            [("exits", True, "`x` ends the process"), ("patches", False, "`x` changes os")],
        ),
        ("call", "abort()", [("exits", False, "`x` may end it")]),
        ("name", "os", [("exits", False, "`x` may end it")]),
        ("call", "my.os.exit()", []),
        ("text", "os.exit()", []),
    ],
)
def test_the_first_row_of_each_kind_counts(
    rules: Rules, shape: str, text: str, rows: list[tuple[str, bool, str]]
) -> None:
    met = rules.matches(shape, text)
    assert [(r.kind, r.blocks, r.what.format(node="x", **match.groupdict())) for r, match in met] == rows


def test_a_line_that_is_no_row_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "concerns.txt"
    file.write_text("exits\n    os\n")
    with pytest.raises(ValueError, match="no row begins with 'exits'"):
        read_rules(file)


def test_only_what_a_change_adds_is_told() -> None:
    def hit(line: int) -> Hit:
        return Hit(Concern("exits", "a.py", line, "ends", blocks=False), "os.exit()")

    assert [one.line for one in added_concerns([hit(1)], [hit(3), hit(7)])] == [7]
