from __future__ import annotations

from verdigris.core.actions import Deny
from verdigris.core.verdict import Kind, Verdict, footer
from verdigris.drivers.code.conversation import clip, describe_denial, describe_judgement, in_tools
from verdigris.models.request import estimate
from verdigris.turns.settle import Settlement


def nothing(_: str, __: int) -> str:
    return ""


def settlement(verdict: Verdict, aside: str | None = None) -> Settlement:
    told = footer(verdict, ("t.py::a",), ("calc.py",), "red", "write one failing test, then `tdd test ID`")
    return Settlement(verdict, None, ("calc.py",), aside, "red", "", told, ("t.py::a",))


def test_next_moves_name_the_tools_and_leave_other_commands_to_the_shell() -> None:
    said = "edit it, then `tdd settle`; or `tdd test tests/t.py::a`, `tdd refactor abort`, `tdd restore a1`"
    assert in_tools(said) == (
        "edit it, then end your reply; or run_tests tests/t.py::a, refactor_end with abort, `tdd restore a1`"
    )
    assert in_tools('`tdd test-bug t.py:3 "WHY"`') == 'test_bug t.py:3 "WHY"'
    assert in_tools("`tdd test-bug close b1`") == "`tdd test-bug close b1`"


def test_a_denial_has_its_rule_its_reason_and_a_next_move() -> None:
    said = describe_denial(Deny("red-first", "No test is red.", "write one, then `tdd test ID`"))
    assert said == "denied [red-first]\nNo test is red.\nnext: write one, then run_tests ID"


def test_an_accepted_turn_is_told_by_its_footer_alone_in_at_most_80_tokens() -> None:
    told = describe_judgement(settlement(Verdict(Kind.ACCEPTED)), withheld=(), quote=nothing)
    assert told.startswith("[tdd] accepted")
    assert "\n" not in told
    assert estimate(told) <= 80


def test_a_turn_that_is_not_accepted_has_its_reasons_before_the_footer() -> None:
    refused = Verdict(Kind.STILL_RED, ("t.py::a: assert 1 == 2",))
    told = describe_judgement(settlement(refused), withheld=(), quote=nothing)
    assert "Your edits stay" in told
    assert told.splitlines()[-1].startswith("[tdd] still-red")
    laid = describe_judgement(settlement(refused, "a1"), withheld=(), quote=nothing)
    assert "set aside as a1" in laid
    assert "Your edits stay" not in laid


def test_what_is_too_long_keeps_its_beginning_and_its_end() -> None:
    told = clip("a" * 50 + "b" * 50, 40)
    assert told.startswith("a" * 20 + "\n… 60 characters left out")
    assert told.endswith("b" * 20)
    assert clip("short") == "short"
