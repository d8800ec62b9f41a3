from __future__ import annotations

from support.cli import FIXED, Cli
from verdigris.cli import when_stuck
from verdigris.core.state import LaidAside

LAID = LaidAside("a1", ("calc.py",), "e", "s", "edited before a red", back_at_claim=True)


def test_laying_aside_and_on() -> None:
    assert "a1" in when_stuck.aside_lines(LAID)[0].text
    assert "nothing" in when_stuck.aside_lines(None)[0].text
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


def edit_and_lay_aside(cli: Cli, text: str) -> None:
    cli.repo.write("calc.py", text)
    cli.ok("aside")


def test_a_restore_without_an_id_takes_the_only_edits_or_lists_them(cli: Cli) -> None:
    assert "nothing is set aside" in cli.tdd("restore").err
    edit_and_lay_aside(cli, "X = 1\n")
    assert "X = 1" in cli.ok("restore", "--show").out
    edit_and_lay_aside(cli, "X = 2\n")
    several = cli.tdd("restore")
    assert several.code == 2
    assert "several edits are set aside: a1 (calc.py), a2 (calc.py)" in several.err
    assert "`tdd restore a1`" in several.err


def test_an_id_that_is_not_there_is_said_in_every_phase(cli: Cli) -> None:
    ran = cli.tdd("restore", "zz")
    assert (ran.code, "nothing is set aside as 'zz'" in ran.err) == (2, True)


def test_an_edit_that_was_meant_as_a_refactor_says_its_way_back(cli: Cli) -> None:
    cli.repo.write("calc.py", "def add(a, b):\n    return b + a\n")
    denied = cli.tdd("refactor", "begin").err
    assert "`tdd aside`, `tdd refactor begin`, then `tdd restore` brings the edit back" in denied
    assert "  for a refactor: `tdd refactor begin`, then `tdd restore a1`" in cli.ok("aside").out
    cli.ok("refactor", "begin")
    cli.ok("restore")
    assert "b + a" in (cli.root / "calc.py").read_text()


def test_a_test_run_says_that_the_configuration_is_gone(cli: Cli) -> None:
    (cli.root / "tdd.yaml").unlink()
    assert "note: there is no tdd.yaml here" in cli.tdd("test").err
