from __future__ import annotations

from typing import TYPE_CHECKING

from support.cli import FIXED
from verdigris.cli import when_stuck
from verdigris.core.state import LaidAside

if TYPE_CHECKING:
    from support.cli import Cli

LAID = LaidAside("a1", ("calc.py",), "e", "s", "edited before a red", back_at_claim=True)


def test_laying_aside_and_on() -> None:
    assert "a1" in when_stuck.aside_lines(LAID, "on")[0].text
    assert "nothing" in when_stuck.aside_lines(None, "on")[0].text
    assert when_stuck.aside_document(LAID, "on") == {"aside": "a1", "paths": ["calc.py"], "next": "on"}
    assert when_stuck.aside_document(None, "on") == {"aside": None, "paths": [], "next": "on"}
    restored = when_stuck.restored_document("a1", ("x",), "go on")
    assert restored == {"restored": "a1", "paths": ["x"], "next": "go on"}


def test_edits_that_are_set_aside_are_dropped_and_kept_as_displaced(cli: Cli) -> None:
    cli.repo.write("calc.py", FIXED)
    assert cli.ok("aside", "--json").json["aside"] == "a1"
    dropped = cli.ok("aside", "drop", "a1", "--json").json
    assert (dropped["dropped"], dropped["paths"]) == ("a1", ["calc.py"])
    assert cli.ok("status", "--json").json["aside"] == []
    assert cli.ok("displaced", "calc.py").out == FIXED
    again = cli.tdd("aside", "drop", "a1")
    assert (again.code, "nothing is set aside as 'a1'" in again.err) == (2, True)
