from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.code_sessions import STUB, TEST, TEST_ID, TEST_TEXT, make_bench
from support.late_imports import LateModule, needs
from verdigris.drivers import happenings as h
from verdigris.drivers.budget import Limits, Spent
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.plan import Plan, PlanStep, Verdicts
from verdigris.drivers.code.session_file import Compacted, Judged, Planned, Said, Tasked
from verdigris.models.protocol import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.code_sessions import Bench
    from verdigris.drivers.code.acp.updates import ShownCall

pytestmark = needs("acp", "the SDK of the Agent Client Protocol (verdigris[code]) is missing")
updates: Any = LateModule("verdigris.drivers.code.acp.updates")


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Bench]:
    with make_bench(tmp_path / "repo", **{"calculator.py": STUB, TEST: TEST_TEXT}) as made:
        yield made


def shown(tool: Bench, name: str, arguments: str) -> ShownCall:
    made: ShownCall = updates.ShownCall("1-a", name, arguments, tool.bench)
    return made


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "places"),
    [
        ("read_file", '{"path": "calculator.py", "first": 2}', "read", [("calculator.py", 2)]),
        ("run_tests", f'{{"ids": ["{TEST_ID}"]}}', "execute", [(TEST, None)]),
        ("test_bug", f'{{"place": "{TEST}:5", "why": "x"}}', "other", [(TEST, 5)]),
        ("edit_file", '{"path": "./calculator.py"}', "edit", [("calculator.py", None)]),
        ("edit_file", '{"path": "../../etc/passwd"}', "edit", []),
        ("read_file", '{"path": ".env"}', "read", []),
        ("read_file", '{"path": 7}', "read", []),
        ("shell", '{"command": "ls', "execute", []),
        ("search", "[]", "search", []),
        ("dance", "{}", "other", []),
    ],
)
def test_a_call_says_what_kind_it_is_and_where(
    tool: Bench, name: str, arguments: str, kind: str, places: list[tuple[str, int | None]]
) -> None:
    started = shown(tool, name, arguments).start_update()
    root = tool.bench.project.root
    assert (started.kind, started.status) == (kind, "pending")
    assert [(one.path, one.line) for one in started.locations or ()] == [
        (str(root / path), line) for path, line in places
    ]


def test_a_patch_names_every_file_and_its_diffs_are_what_lies_on_the_disk(tool: Bench) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: calculator.py\n*** Move to: sums.py\n@@\n x\n"
        "*** Delete File: README.md\n*** End Patch"
    )
    root = tool.bench.project.root
    (root / "README.md").write_text("old\n", "utf-8")
    call = shown(tool, "apply_patch", f'{{"patch": {patch!r}}}'.replace("'", '"'))
    call.look_before()
    (root / "sums.py").write_text("new\n", "utf-8")
    (root / "README.md").unlink()
    ended = call.end_update("written", well=True)
    assert [one.model_dump(by_alias=True, exclude_none=True) for one in (ended.content or ())[:2]] == [
        {"type": "diff", "path": str(root / "sums.py"), "newText": "new\n"},
        {"type": "diff", "path": str(root / "README.md"), "oldText": "old\n", "newText": ""},
    ]
    assert call.end_update("denied", well=False).locations is None


def test_a_text_with_fences_in_it_stays_one_block() -> None:
    assert updates.fence("a") == "```\na\n```"
    assert updates.fence("```py\na\n```").startswith("````\n")


def test_lines_that_were_told_as_they_came_are_not_told_again(tool: Bench) -> None:
    narration = updates.Narration(Any)  # of a session nothing is asked here
    events: tuple[h.Happening, ...] = (
        h.ModelWrote("one\n"),
        h.Delayed("it was cut off"),
        h.ModelWrote("one\n"),
        h.ModelSpoke(1, "one\ntwo"),
        h.SessionEnded("a", End.REFUSED, "one\ntwo\n\nNot accepted: x"),
    )
    told = [update for event in events for update in narration.tell(event)]
    assert [(one.session_update, one.content.text) for one in told] == [
        ("agent_message_chunk", "one\n"),
        ("agent_thought_chunk", "waiting: it was cut off\n"),
        ("agent_message_chunk", "one\n"),
        ("agent_message_chunk", "two\n"),
        ("agent_message_chunk", "\nNot accepted: x\n"),
    ]


def test_verdicts_say_how_far_a_plan_is() -> None:
    plan = Plan((PlanStep("a", "t::a"), PlanStep("b", "t::b"), PlanStep("c", "t::c")))
    told = updates.plan_update(plan, Verdicts(frozenset({"t::b"}), frozenset({"t::a"})))
    assert [(one.content, one.status) for one in told.entries] == [
        ("a", "completed"),
        ("b", "in_progress"),
        ("c", "pending"),
    ]


def test_commands_say_what_they_take() -> None:
    commands = {one.name: one for one in updates.commands_update().available_commands}
    assert "quit" not in commands
    assert commands["status"].input is None
    assert commands["off"].input is not None
    assert commands["off"].input.root.hint == "WHY"
    assert commands["test-bug"].description == "report a wrong test"


@pytest.mark.parametrize(
    ("end", "finish", "limits", "reason"),
    [
        (End.DONE, "stop", Limits(), "end_turn"),
        (End.REFUSED, "tool_calls", Limits(), "end_turn"),
        (End.REFUSED, "content_filter", Limits(), "refusal"),
        (End.DONE, "length", Limits(), "max_tokens"),
        (End.INTERRUPTED, "stop", Limits(), "cancelled"),
        (End.LIMIT, "stop", Limits(rounds=3), "max_turn_requests"),
        (End.LIMIT, "stop", Limits(tokens=100), "max_tokens"),
        (End.LIMIT, "stop", Limits(money=0.5), "max_tokens"),
        (End.LIMIT, "stop", Limits(tokens=900, seconds=4), "max_turn_requests"),
    ],
)
def test_each_end_has_its_reason(end: End, finish: str, limits: Limits, reason: str) -> None:
    assert updates.stop_reason(end, finish, limits, Spent(3, 100, 0.5, 4.0)) == reason


def test_a_session_is_told_again_with_the_persons_words_alone_as_the_persons(tool: Bench) -> None:
    calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "shell", "{}"))
    entries = (
        Tasked("Add."),
        Said((Message("user", "Add.\n\n[tdd] where things stand:\nphase red"),)),
        Said((Message("assistant", "Look.", calls),)),
        Compacted((Message("user", "Add."),)),
        Planned(Plan((PlanStep("a"),))),
        Judged("[tdd] accepted"),
        Said((Message("tool", "denied [outside]\nno", call_id="a"), Message("user", "Steps are open."))),
    )
    told = list(updates.ConversationReplay(tool.bench).tell(entries, Verdicts()))
    assert [(one.session_update, _about(one)) for one in told] == [
        ("user_message_chunk", "Add."),
        ("agent_message_chunk", "Look.\n"),
        ("tool_call", "past-2-a pending"),
        ("tool_call", "past-2-b pending"),
        ("agent_message_chunk", "\n[tdd] accepted\n"),
        ("tool_call_update", "past-2-a failed"),
        ("agent_thought_chunk", "Steps are open."),
        ("tool_call_update", "past-2-b failed"),
        ("plan", "pending"),
    ]


def _about(update: Any) -> str:
    if update.session_update == "plan":
        return str(update.entries[0].status)
    if update.session_update.startswith("tool"):
        return f"{update.tool_call_id} {update.status}"
    return str(update.content.text)
