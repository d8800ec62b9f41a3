"""Translates happenings of a session to the protocol: messages, tool calls, the plan, a turn's end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, get_args

from acp import schema
from acp.helpers import (
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_available_commands,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.schema import PlanEntryStatus, StopReason, ToolKind

from verdigris.drivers import happenings as h
from verdigris.drivers.budget import Limits, Spent, reached_limit
from verdigris.drivers.code.commands import COMMANDS, QUIT
from verdigris.drivers.code.outcome import End
from verdigris.drivers.code.plan import Colour, Plan, Verdicts, colour_of
from verdigris.drivers.code.session import Session
from verdigris.drivers.code.session_file import Judged, Planned, Said, SessionEntry, Tasked
from verdigris.drivers.code.settings import Mode
from verdigris.drivers.code.tools.dispatch import EDITING
from verdigris.drivers.code.tools.edit_formats import BadEdit, read_patch
from verdigris.drivers.code.tools.files import WRITTEN
from verdigris.drivers.code.tools.workbench import Workbench
from verdigris.models.protocol import Message
from verdigris.models.roles.context import as_text
from verdigris.models.tool_calls import LENGTH, arguments_of, describe_arguments

Content: TypeAlias = schema.ContentToolCallContent | schema.FileEditToolCallContent
_KINDS: Mapping[str, ToolKind] = {
    "read_file": "read",
    "list_files": "search",
    "search": "search",
    **dict.fromkeys(sorted(EDITING), "edit"),
    **dict.fromkeys(("run_tests", "refactor_end", "shell"), "execute"),
    **dict.fromkeys(("submit_plan", "revise_plan", "mark_step"), "think"),
}
_PLACE = re.compile(r"(?P<path>[^:]+)(?::(?P<line>\d+))?")


@dataclass
class ShownCall:
    name: str
    tool: str
    arguments: str
    """JSON, perhaps invalid."""
    bench: Workbench
    before: dict[str, str | None] = field(default_factory=dict)
    """Path → text before the call, of the files that it will write; None: no file."""

    @property
    def kind(self) -> ToolKind:
        return _KINDS.get(self.tool, "other")

    @property
    def given(self) -> dict[str, Any]:
        return arguments_of(self.arguments)

    @property
    def title(self) -> str:
        return f"{self.tool} {describe_arguments(self.arguments)}".strip()

    # -- locations --------------------------------------------------------------------------------

    def locations(self, lines: Mapping[str, int] | None = None) -> list[schema.ToolCallLocation]:
        """The files of the call; `lines`: by path, the first line of an edit."""
        root, places = self.bench.project.root, dict(self._read_places())
        places |= {path: (lines or {}).get(path) for path in self._edited_paths()}
        return [schema.ToolCallLocation(path=str(root / path), line=line) for path, line in places.items()]

    def _edited_paths(self) -> tuple[str, ...]:
        """The paths that an edit names, without those outside the repository."""
        if self.tool == "apply_patch":
            patches = read_patch(str(self.given.get("patch", "")))
            named = () if isinstance(patches, BadEdit) else patches
            spelled = [name for patch in named for name in (patch.path, patch.move_to) if name]
        else:
            spelled = [str(self.given.get("path", ""))] if self.tool in EDITING else []
        located = (self.bench.locate(each) for each in dict.fromkeys(filter(None, spelled)))
        return tuple(path for path in located if isinstance(path, str))

    def _read_places(self) -> Iterator[tuple[str, int | None]]:
        """The places that it reads or runs: `FILE`, `FILE:LINE` or a test id."""
        given, ids = self.given, self.given.get("ids")
        spelled = [given.get("place"), *(ids if isinstance(ids, list) else ())]
        if self.tool not in EDITING and given.get("path"):
            spelled.append(f"{given['path']}:{given.get('first', 1)}")
        for match in filter(None, (_PLACE.match(str(each)) for each in spelled if each)):
            path = self.bench.locate(match["path"])
            if isinstance(path, str) and (self.bench.project.root / path).is_file():
                yield path, int(match["line"]) if match["line"] else None

    # -- changes ----------------------------------------------------------------------

    def look_before(self) -> None:
        self.before = {path: self._text(path) for path in self._edited_paths()}

    def _text(self, path: str) -> str | None:
        data = self.bench.read_bytes(path)
        return None if data is None else as_text(data)

    def _diffs(self) -> dict[str, schema.FileEditToolCallContent]:
        """Compares with the disk, since the kernel has made the edit by now."""
        scrub, root = self.bench.scrub, self.bench.project.root
        diffs = {}
        for path, old in self.before.items():
            if (new := self._text(path)) != old:
                shown = None if old is None else scrub(old)
                diffs[path] = tool_diff_content(str(root / path), scrub(new or ""), shown)
        return diffs

    def proposal(self) -> list[Content]:
        """The change that an edit proposes, for the person who has to permit it."""
        if self.tool == "apply_patch":
            return [tool_content(text_block(fence(str(self.given.get("patch", "")))))]
        old, new = self.given.get("search"), self.given.get("replace", self.given.get("content", ""))
        root = self.bench.project.root
        return [
            tool_diff_content(str(root / path), str(new), None if old is None else str(old))
            for path in self._edited_paths()
        ]

    # -- updates ---------------------------------------------------------------------------

    def start_update(self) -> schema.ToolCallStart:
        where, given = self.locations(), self.given
        return start_tool_call(
            self.name, self.title, kind=self.kind, status="pending", locations=where, raw_input=given
        )

    def end_update(self, text: str, *, well: bool) -> schema.ToolCallProgress:
        diffs = self._diffs() if well else {}
        content: list[Content] = [*diffs.values(), tool_content(text_block(fence(text)))]
        lines = {path: _first_change(diff) for path, diff in diffs.items()}
        status: schema.ToolCallStatus = "completed" if well else "failed"
        where = self.locations(lines) if diffs else None
        return update_tool_call(self.name, status=status, content=content, locations=where)


def _first_change(diff: schema.FileEditToolCallContent) -> int:
    old, new = (diff.old_text or "").splitlines(), diff.new_text.splitlines()
    changed = (at for at, (was, now) in enumerate(zip(old, new, strict=False), 1) if was != now)
    return next(changed, min(len(old), len(new)) + 1)


def fence(text: str) -> str:
    """Puts a text into a code fence, so that an editor does not render it as Markdown."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}\n{text}\n{marks}"


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
"""The `finish` of a model whose provider refused."""


def modes_of(current: Mode) -> schema.SessionModeState:
    modes = [
        schema.SessionMode(id=mode, name=name, description=about) for mode, (name, about) in _MODES.items()
    ]
    return schema.SessionModeState(current_mode_id=current, available_modes=modes)


def mode_named(name: str) -> Mode | None:
    return next((mode for mode in get_args(Mode) if mode == name), None)


def commands_update() -> schema.AvailableCommandsUpdate:
    """The slash commands, without `/quit`: an editor closes sessions in its own way."""
    commands = []
    for name, (about, _) in COMMANDS.items():
        words, takes, does = about.partition(": ")
        hint = (
            schema.AvailableCommandInput(root=schema.UnstructuredCommandInput(hint=words)) if takes else None
        )
        if name != QUIT:
            shown = does if takes else about
            commands.append(
                schema.AvailableCommand(name=name.removeprefix("/"), description=shown, input=hint)
            )
    return update_available_commands(commands)


def plan_update(plan: Plan, verdicts: Verdicts) -> schema.AgentPlanUpdate:
    """The plan, with the status of each step by the log."""
    return update_plan(
        plan_entry(step.title, status=_STATUS[colour_of(step, verdicts)]) for step in plan.steps
    )


def stop_reason(end: End, finish: str, limits: Limits, spent: Spent) -> StopReason:
    """`finish`: how the model's last reply ended.

    Edits that are not accepted end as `end_turn`: in the protocol `refusal` means that the prompt is
    forgotten, and here it is not.
    """
    if end is End.INTERRUPTED:
        return "cancelled"
    if end is End.LIMIT:
        bounds = replace(limits, rounds=0, seconds=0.0)
        return "max_tokens" if reached_limit(bounds, spent, "turn") else "max_turn_requests"
    return "refusal" if finish == _FILTERED else "max_tokens" if finish == LENGTH else "end_turn"


@dataclass
class Narration:
    """Turns happenings into updates; keeps what the editor knows already."""

    session: Session
    calls: dict[str, ShownCall] = field(default_factory=dict)
    """Calls that have not ended; the first is under way."""
    written: str = ""
    """The part of the open reply that was sent line by line."""
    said: str = ""
    """The text of the last reply, if it had no calls."""

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
            case h.SessionEnded(outcome=End.DONE | End.ANSWERED | End.REFUSED | End.NOT_DONE | End.LIMIT):
                if rest := happening.text.removeprefix(self.said.strip()).strip():
                    yield update_agent_message_text(f"\n{rest}\n")

    def _tell_call(self, happening: h.CallMade | h.CallBegan | h.ToolCalled) -> Iterator[Update]:
        match happening:
            case h.CallMade():
                call = ShownCall(happening.call, happening.tool, happening.arguments, self.session.bench)
                self.calls[call.name], self.said = call, ""
                yield call.start_update()
            case h.CallBegan():
                self.calls[happening.call].look_before()
                yield update_tool_call(happening.call, status="in_progress")
            case h.ToolCalled():
                yield self.calls[happening.call].end_update(happening.told, well=happening.outcome == "ok")
                # Only now: an interrupt before would leave the call without its end.
                del self.calls[happening.call]

    def close_calls(self, why: str) -> Iterator[Update]:
        """Ends all open calls."""
        while self.calls:
            yield self.calls.pop(next(iter(self.calls))).end_update(why, well=False)


@dataclass
class ConversationReplay:
    """Replays a session for the editor, from its first entry on, with what was compacted since."""

    bench: Workbench
    task: str = ""
    """The person's task; the message to the model holds more."""
    plan: Plan = field(default_factory=Plan)
    calls: dict[str, ShownCall] = field(default_factory=dict)

    def tell(self, entries: Iterable[SessionEntry], verdicts: Verdicts) -> Iterator[Update]:
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
            yield left.end_update("It was cut off.", well=False)
        if self.plan.steps:
            yield plan_update(self.plan, verdicts)

    def _tell_message(self, message: Message, number: int) -> Iterator[Update]:
        """A message from the kernel to the model is shown as a thought."""
        match message.role:
            case "user" if not (self.task and message.content.startswith(self.task)):
                yield update_agent_thought_text(message.content)
            case "user":
                self.task = ""
            case "assistant":
                if message.content.strip():
                    yield update_agent_message_text(f"{message.content}\n")
                for sent in message.calls:
                    shown = ShownCall(f"past-{number}-{sent.id}", sent.name, sent.arguments, self.bench)
                    self.calls[sent.id] = shown
                    yield shown.start_update()
            case "tool" if message.call_id in self.calls:
                call = self.calls.pop(message.call_id)
                done = call.end_update(message.content, well=not message.content.startswith("denied ["))
                if message.content.startswith(WRITTEN):  # the bytes before the edit are gone
                    done.content = [*call.proposal(), *(done.content or [])]
                yield done
