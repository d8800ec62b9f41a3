from __future__ import annotations

from verdigris.core.actions import Deny
from verdigris.core.verdict import Kind, Verdict, footer
from verdigris.drivers.code.conversation import (
    INSTRUCTION_CHARACTERS,
    Conversation,
    Essentials,
    clip,
    compact,
    describe_denial,
    describe_judgement,
    in_tools,
    pin_prefix,
    reply_message,
)
from verdigris.models.protocol import Message, ModelReply, ToolCall, ToolSpec
from verdigris.models.request import estimate, prefix_share, prompt_text
from verdigris.turns.settle import Settlement

TOOLS = (ToolSpec("search", "Finds.", {"type": "object"}),)
START = Conversation(pin_prefix("You write code.", [("AGENTS.md", "Use tabs.")]))


def talk(turns: int, size: int = 10) -> Conversation:
    """A task, and turns with one call and its answer each."""
    found = START.add(Message("user", "the task"))
    for number in range(turns):
        call = ToolCall(f"c{number}", "search", '{"text": "x"}')
        found = found.add(
            Message("assistant", f"turn {number}", (call,)),
            Message("tool", "word " * size, call_id=f"c{number}"),
        )
    return found


def test_the_prefix_holds_the_system_text_and_the_repositorys_instructions() -> None:
    [message] = START.prefix
    assert message.role == "system"
    assert message.content == "You write code.\n\n# AGENTS.md of this repository\n\nUse tabs."


def test_instructions_that_are_very_long_are_cut_and_say_so() -> None:
    [message] = pin_prefix("s", [("AGENTS.md", "x" * (INSTRUCTION_CHARACTERS + 1))])
    assert message.content.endswith("read_file has it)")


def test_every_prompt_begins_with_the_prompt_before_it() -> None:
    before, after = talk(2).ask(TOOLS), talk(3).ask(TOOLS)
    assert prompt_text(after).startswith(prompt_text(before))
    assert prefix_share(before, after).share > 0.5


def test_a_reply_goes_back_with_calls_that_any_server_reads() -> None:
    sent = reply_message(ModelReply("hm", (ToolCall("a", "search", '{"te'), ToolCall("a", "search", "{}"))))
    assert [(call.id, call.arguments) for call in sent.calls] == [("a", "{}"), ("a_2", "{}")]


def test_a_compaction_keeps_task_law_plan_and_verdicts_word_for_word_and_the_prefix_as_it_was() -> None:
    keep = Essentials(
        ("build it", "and this"), ("phase green", "claimed t::a"), "1. ○ one", ("[tdd] accepted",)
    )
    made = compact(talk(50, size=200), keep, kept_tokens=1000)
    assert made.prefix == START.prefix
    told = made.said[0].content
    for text in ("build it", "and this", "phase green", "claimed t::a", "1. ○ one", "[tdd] accepted"):
        assert text in told
    assert len(made.said) < 20


def test_a_compaction_never_keeps_an_answer_without_its_call() -> None:
    made = compact(talk(50, size=200), Essentials(("t",)), kept_tokens=1000)
    assert made.said[1].role == "assistant"
    assert made.said[-1] == talk(50, size=200).said[-1]
    asked = {call.id for message in made.said for call in message.calls}
    assert {message.call_id for message in made.said if message.role == "tool"} == asked


def test_a_compaction_of_one_huge_turn_keeps_the_essentials_alone() -> None:
    assert len(compact(talk(1, size=100_000), Essentials(("t",))).said) == 1


def nothing(_: str, __: int) -> str:
    return ""


def settlement(verdict: Verdict, aside: str | None = None) -> Settlement:
    told = footer(verdict, ("t.py::a",), ("calc.py",), "red", "write one failing test, then `tdd test ID`")
    return Settlement(verdict, None, ("calc.py",), aside, "red", "", told, ("t.py::a",))


def test_next_moves_name_the_tools_and_the_shell_for_other_commands() -> None:
    said = "edit it, then `tdd settle`; or `tdd test tests/t.py::a`, `tdd refactor abort`, `tdd restore a1`"
    assert in_tools(said) == (
        "edit it, then end your reply; or run_tests tests/t.py::a, refactor_end with abort, "
        "shell `tdd restore a1`"
    )
    assert in_tools('`tdd test-bug t.py:3 "WHY"`') == 'test_bug t.py:3 "WHY"'
    assert in_tools("`tdd test-bug close b1`") == "`tdd test-bug close b1`"
    assert in_tools("report it: tdd test-bug t.py:3, and why") == "report it: test_bug t.py:3, and why"


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
