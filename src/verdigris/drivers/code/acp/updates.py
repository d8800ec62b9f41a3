"""Says what happens in a session in the protocol's words: messages, tool calls, the plan, a turn's end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, get_args

from acp import schema
from acp.helpers import (
    plan_entry,
    update_agent_message_text,
    update_agent_thought_text,
    update_available_commands,
    update_plan,
    update_tool_call,
    update_user_message_text,
)

from verdigris.drivers import happenings as h
from verdigris.drivers.budget import reached_limit
from verdigris.drivers.code.acp.calls import ShownCall
from verdigris.drivers.code.commands import COMMANDS, QUIT
from verdigris.drivers.code.grants import Mode
from verdigris.drivers.code.plan import Plan, colour_of
from verdigris.drivers.code.session import End
from verdigris.drivers.code.session_file import Judged, Planned, Said, Tasked
from verdigris.drivers.code.tools.files import WRITTEN
from verdigris.models.tool_calls import LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from acp.schema import PlanEntryStatus, StopReason

    from verdigris.drivers.budget import Limits, Spent
    from verdigris.drivers.code.plan import Colour, Verdicts
    from verdigris.drivers.code.session import Session
    from verdigris.drivers.code.session_file import Entry
    from verdigris.drivers.code.tools.workbench import Workbench
    from verdigris.models.protocol import Message

Update: TypeAlias = (
    schema.UserMessageChunk
    | schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.CurrentModeUpdate
    | schema.UsageUpdate
)
_STATUS: Mapping[Colour, PlanEntryStatus] = {"none": "pending", "red": "in_progress", "green": "completed"}
_MODES: Mapping[Mode, tuple[str, str]] = {
    "ask": ("Ask", "asks before each edit and each command"),
    "edits": ("Edits", "edits as the law allows, asks before commands"),
    "all": ("All", "edits and runs commands in the sandbox without asking"),
}
_FILTERED = "content_filter"
"""The `finish` of a model that refused."""


def modes_of(current: Mode) -> schema.SessionModeState:
    modes = [
        schema.SessionMode(id=mode, name=name, description=about) for mode, (name, about) in _MODES.items()
    ]
    return schema.SessionModeState(current_mode_id=current, available_modes=modes)


def mode_named(name: str) -> Mode | None:
    return next((mode for mode in get_args(Mode) if mode == name), None)


def commands_update() -> schema.AvailableCommandsUpdate:
    """What a person may say to a session beside tasks; an editor closes sessions in its own way."""
    found = []
    for name, (about, _) in COMMANDS.items():
        words, takes, does = about.partition(": ")
        hint = (
            schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=words)) if takes else None
        )
        if name != QUIT:
            shown = does if takes else about
            found.append(schema.AvailableCommand(name=name.removeprefix("/"), description=shown, input=hint))
    return update_available_commands(found)


def plan_update(plan: Plan, verdicts: Verdicts) -> schema.AgentPlanUpdate:
    """The log, not the model, says how far a step is."""
    return update_plan(
        plan_entry(step.title, status=_STATUS[colour_of(step, verdicts)]) for step in plan.steps
    )


def stop_reason(end: End, finish: str, limits: Limits, spent: Spent) -> StopReason:
    """`finish`: how the model's last reply ended.

    What the law refuses ends a turn as any other does: `refusal` says that the prompt is forgotten, and
    it is not.
    """
    if end is End.INTERRUPTED:
        return "cancelled"
    if end is End.LIMIT:
        bounds = replace(limits, rounds=0, seconds=0.0)
        return "max_tokens" if reached_limit(bounds, spent, "turn") else "max_turn_requests"
    return "refusal" if finish == _FILTERED else "max_tokens" if finish == LENGTH else "end_turn"


@dataclass
class Narration:
    """What the editor has been told of a session so far, and what the next event adds to it."""

    session: Session
    calls: dict[str, ShownCall] = field(default_factory=dict)
    """Those that have not ended; the first is under way."""
    written: str = ""
    """Of the reply under way, what was told line by line."""
    said: str = ""
    """The last reply's text, where it had no calls."""

    def tell(self, happening: h.Happening) -> Iterator[Update]:
        match happening:
            case h.ModelWrote():
                self.written += happening.text
                yield update_agent_message_text(happening.text)
            case h.ModelSpoke():
                rest = happening.text.removeprefix(self.written)
                self.written, self.said = "", happening.text
                yield update_agent_message_text(f"{rest}\n")
            case h.CallMade() | h.CallBegan() | h.ToolCalled():
                yield from self._tell_call(happening)
            case h.PlanShown():
                yield plan_update(self.session.file.record.plan, self.session.dispatcher.verdicts())
            case h.TurnJudged():
                yield update_agent_message_text(f"\n{happening.footer}\n")
            case h.Noted():
                yield update_agent_thought_text(f"{happening.text}\n")
            case h.Delayed():
                self.written = ""
                yield update_agent_thought_text(f"waiting: {happening.why}\n")
            case h.Asked() if size := self.session.settings.context_tokens:
                used = happening.prompt + happening.completion
                yield schema.UsageUpdate(session_update="usage_update", used=used, size=size)
            case h.SessionEnded(outcome=End.DONE | End.REFUSED | End.LIMIT):
                if rest := happening.text.removeprefix(self.said.strip()).strip():
                    yield update_agent_message_text(f"\n{rest}\n")

    def _tell_call(self, happening: h.CallMade | h.CallBegan | h.ToolCalled) -> Iterator[Update]:
        match happening:
            case h.CallMade():
                call = ShownCall(happening.call, happening.tool, happening.arguments, self.session.bench)
                self.calls[call.name], self.said = call, ""
                yield call.started()
            case h.CallBegan():
                self.calls[happening.call].look_before()
                yield update_tool_call(happening.call, status="in_progress")
            case h.ToolCalled():
                yield self.calls[happening.call].ended(happening.told, well=happening.outcome == "ok")
                del self.calls[
                    happening.call
                ]  # not before it is told: an interrupt leaves none without its end

    def close_calls(self, why: str) -> Iterator[Update]:
        """None is left open, whatever ended the turn."""
        while self.calls:
            yield self.calls.pop(next(iter(self.calls))).ended(why, well=False)


@dataclass
class ConversationReplay:
    """A session as the editor would have seen it, from the first entry on, whatever was compacted since."""

    bench: Workbench
    task: str = ""
    """Of the person; the message that brings it to the model holds more."""
    plan: Plan = field(default_factory=Plan)
    calls: dict[str, ShownCall] = field(default_factory=dict)

    def tell(self, entries: Iterable[Entry], verdicts: Verdicts) -> Iterator[Update]:
        for number, entry in enumerate(entries):
            match entry:
                case Tasked():
                    self.task = entry.task
                    yield update_user_message_text(entry.task)
                case Said():
                    for message in entry.messages:
                        yield from self._tell_message(message, number)
                case Judged():
                    yield update_agent_message_text(f"\n{entry.footer}\n")
                case Planned():
                    self.plan = entry.plan
        for left in self.calls.values():
            yield left.ended("It was cut off.", well=False)
        if self.plan.steps:
            yield plan_update(self.plan, verdicts)

    def _tell_message(self, message: Message, number: int) -> Iterator[Update]:
        """What the kernel told the model by itself is a thought."""
        match message.role:
            case "user" if not (self.task and message.content.startswith(self.task)):
                yield update_agent_thought_text(message.content)
            case "user":
                self.task = ""
            case "assistant":
                if message.content.strip():
                    yield update_agent_message_text(f"{message.content}\n")
                for call in message.calls:
                    shown = ShownCall(f"past-{number}-{call.id}", call.name, call.arguments, self.bench)
                    self.calls[call.id] = shown
                    yield shown.started()
            case "tool" if message.call_id in self.calls:
                yield _replay_answer(self.calls.pop(message.call_id), message.content)


def _replay_answer(call: ShownCall, text: str) -> schema.ToolCallProgress:
    """The bytes before an edit are gone: what it replaced is told as the model wrote it."""
    done = call.ended(text, well=not text.startswith("denied ["))
    if text.startswith(WRITTEN):
        done.content = [*call.proposal(), *(done.content or [])]
    return done
