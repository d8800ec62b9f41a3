from __future__ import annotations

from verdigris.cli import turn
from verdigris.turns.refactor import Aborted, Begun


def test_a_refactor_begins_and_is_given_up() -> None:
    assert "3 tests passed, 1 not" in turn.begun_lines(Begun(3, 1, uncovered=False))[0].text
    assert "set aside as a1" in turn.aborted_lines(Aborted("a1", ("calc.py",), "-"))[0].text
    assert "nothing had changed" in turn.aborted_lines(Aborted(None, (), "-"))[0].text
