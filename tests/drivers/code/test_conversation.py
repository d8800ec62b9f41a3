from __future__ import annotations

from verdigris.drivers.code.conversation import (
    INSTRUCTION_CHARACTERS,
    Conversation,
    Essentials,
    compact,
    pin_prefix,
    reply_message,
)
from verdigris.models.protocol import Message, ModelReply, ToolCall, ToolSpec
from verdigris.models.request import prefix_share, prompt_text

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
