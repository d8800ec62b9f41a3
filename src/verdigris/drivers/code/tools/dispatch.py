"""The table of a session's tools, its system text, and the dispatch of calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdigris.core.errors import StorageError, VerdigrisError
from verdigris.core.value import value
from verdigris.drivers.code.conversation import in_tools
from verdigris.drivers.code.plan import (
    BadPlan,
    Plan,
    Verdicts,
    count_steps,
    lint_plan,
    mark_step,
    read_plan,
    revise_plan,
)
from verdigris.drivers.code.session_file import Planned, SessionFile
from verdigris.drivers.code.settings import Permission, deny_without_yes
from verdigris.drivers.code.tools import files, law
from verdigris.drivers.code.tools.workbench import ToolAnswer, Workbench, answer_denial, answer_failure, shell
from verdigris.models.protocol import ToolCall, ToolSpec
from verdigris.models.tool_calls import BadArguments, read_arguments

READING = frozenset({"read_file", "list_files", "search", "run_tests"})
"""Tools that change no file: it makes sense to repeat one after a call of another kind."""
EDITING = frozenset({"edit_file", "create_file", "write_file", "apply_patch"})


SYSTEM = Path(__file__).parents[1] / "system.md"
"""What every prompt of a session begins with."""
_TEXT, _FLAG, _NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_STEPS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"title": _TEXT, "test_id": _TEXT, "test_file_path": _TEXT},
        "required": ["title"],
    },
}


def _tool(
    name: str,
    description: str,
    required: Mapping[str, Mapping[str, Any]],
    optional: Mapping[str, Mapping[str, Any]] | None = None,
) -> ToolSpec:
    """Short, since every prompt holds it: `read_arguments`, not the schema, refuses other arguments."""
    parameters: dict[str, Any] = {"type": "object", "properties": {**required, **(optional or {})}}
    return ToolSpec(name, description, parameters | ({"required": list(required)} if required else {}))


_COMMON = (
    _tool(
        "read_file",
        "A file's text with line numbers; some lines from `first` on.",
        {"path": _TEXT},
        {"first": _NUMBER, "lines": _NUMBER},
    ),
    _tool("list_files", "Files that match a glob; ** for all.", {"glob": _TEXT}),
    _tool("search", "Lines that contain a text.", {"text": _TEXT}, {"glob": _TEXT, "regex": _FLAG}),
    _tool(
        "write_file",
        "Writes a whole file; only after two failed edits of it.",
        {"path": _TEXT, "content": _TEXT},
        {"more": _FLAG},
    ),
    _tool("run_tests", "Runs test ids or files, without ids all; records reds.", {}, {"ids": _TEXTS}),
    _tool(
        "edit_claim",
        "Which reds your edits make pass.",
        {"test_ids": _TEXTS},
        {"paths": _TEXTS},
    ),
    _tool("submit_plan", "The steps, each with the test that proves it.", {"steps": _STEPS}),
    _tool("mark_step", "A step that a verdict made green is done.", {"step": _NUMBER}),
    _tool("revise_plan", "Replaces steps that are not green.", {"reason": _TEXT, "remaining_steps": _STEPS}),
    _tool(
        "shell",
        "Runs a command in a sandbox; or shows, or stops, a background job.",
        {},
        {"command": _TEXT, "seconds": _NUMBER, "background": _FLAG, "job": _TEXT, "stop": _FLAG},
    ),
    _tool("refactor_begin", "To restructure: source may change, behaviour not.", {}),
    _tool("refactor_end", "Judges the refactor, or gives it up.", {}, {"abort": _FLAG}),
    _tool("test_bug", "A test is wrong: FILE:LINE or id.", {"place": _TEXT, "why": _TEXT}),
    _tool("finish", "Ends the task.", {"summary": _TEXT}),
)
_REPLACING = (
    _tool(
        "edit_file",
        "Replaces a text that stands exactly once in a file.",
        {"path": _TEXT, "search": _TEXT, "replace": _TEXT},
        {"more": _FLAG},
    ),
    _tool("create_file", "Makes a new file.", {"path": _TEXT, "content": _TEXT}, {"more": _FLAG}),
)
_PATCHING = (
    _tool(
        "apply_patch",
        "Applies a patch from `*** Begin Patch` to `*** End Patch`; quoted lines have to match exactly.",
        {"patch": _TEXT},
        {"more": _FLAG},
    ),
)
_GPT = re.compile(r"(?:.*/)?gpt-(?!4|3|oss)", re.IGNORECASE)


def is_patching(model: str) -> bool:
    """Whether the model was trained on patches, and works best with them."""
    return _GPT.match(model) is not None


def tools_for(model: str) -> tuple[ToolSpec, ...]:
    edits = _PATCHING if is_patching(model) else _REPLACING
    return tuple(sorted((*_COMMON, *edits), key=lambda tool: tool.name))


WINDOW, MOST = 6, 3
_KERNEL: Mapping[str, Callable[[Workbench, Mapping[str, Any]], ToolAnswer]] = {
    "read_file": files.read_file,
    "list_files": files.list_files,
    "search": files.search,
    "edit_file": files.edit_file,
    "create_file": files.create_file,
    "write_file": files.write_file,
    "apply_patch": files.patch_files,
    "run_tests": law.run_tests,
    "edit_claim": law.edit_claim,
    "refactor_begin": law.refactor_begin,
    "refactor_end": law.refactor_end,
    "test_bug": law.test_bug,
    "shell": shell,
}


@value
class CallHistory:
    """The calls since the last task, the newest last; each with whether it only reads."""

    recent: tuple[tuple[str, bool], ...] = ()

    def after(self, name: str, arguments: Mapping[str, Any], *, reads: bool) -> CallHistory:
        """A call that may change files permits reading them again."""
        before = self.recent if reads else tuple(call for call in self.recent if not call[1])
        return CallHistory((*before, (_signature(name, arguments), reads))[-WINDOW:])

    def suppresses(self, name: str, arguments: Mapping[str, Any]) -> bool:
        signatures = [signature for signature, _ in self.recent[-(WINDOW - 1) :]]
        return signatures.count(_signature(name, arguments)) >= MOST - 1


def describe_suppression(name: str) -> str:
    return (
        f"[tdd] suppressed: {name} was called {MOST} times with the same arguments within {WINDOW} calls, "
        "and nothing changed in between. It was not run. Read what it said before, and do something else; "
        "if you cannot go on, call finish and say why."
    )


def _signature(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"


class Dispatcher:
    permission = Permission()
    ask_person: Callable[[str, str], bool] | None = None
    """Asks a person to permit a call, given the tool and its arguments; None: nobody is there."""

    def __init__(self, bench: Workbench, file: SessionFile, tools: tuple[ToolSpec, ...]) -> None:
        self._bench, self._file = bench, file
        self._tools = {tool.name: tool for tool in tools}
        self._history = CallHistory()

    def forget_calls(self) -> None:
        """After a new task, repeated calls may make sense again."""
        self._history = CallHistory()

    def carry_out(
        self, call: ToolCall, *, finish: str = "", begin: Callable[[], object] | None = None
    ) -> ToolAnswer:
        """Answers every call; only a failing disk ends the session (StorageError).

        `begin` is called right before the tool runs.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            return answer_failure(
                f"There is no tool {call.name!r}; there are {', '.join(sorted(self._tools))}."
            )
        given = read_arguments(call, tool, finish=finish)
        if isinstance(given, BadArguments):
            return answer_failure(given.words)
        repeated = self._history.suppresses(call.name, given)
        self._history = self._history.after(call.name, given, reads=call.name in READING)
        if repeated:
            return ToolAnswer(describe_suppression(call.name), "suppressed")
        if not self._is_allowed(call, given):
            return answer_denial(deny_without_yes(call.name))
        if begin is not None:
            begin()
        try:
            answer = self._run(call.name, given)
        except StorageError:
            raise
        except VerdigrisError as error:
            hint = f"\nnext: {in_tools(error.hint)}" if error.hint else ""
            answer = answer_failure(f"{in_tools(error.message)}{hint}")
        return replace(answer, text=self._bench.answer(answer.text))

    def _is_allowed(self, call: ToolCall, given: Mapping[str, Any]) -> bool:
        if not self.permission.needs_yes(call.name, given, edits=call.name in EDITING):
            return True
        return self.ask_person is not None and self.ask_person(call.name, call.arguments)

    def _run(self, name: str, given: Mapping[str, Any]) -> ToolAnswer:
        match name:
            case "submit_plan":
                return self._take_plan(read_plan(given["steps"]))
            case "revise_plan":
                remaining = read_plan(given["remaining_steps"])
                if isinstance(remaining, Plan):
                    remaining = revise_plan(self._file.record.plan, remaining, self.verdicts())
                return self._take_plan(remaining)
            case "mark_step":
                marked = mark_step(self._file.record.plan, given["step"], self.verdicts())
                return self._take_plan(marked, marked=True)
            case "finish":
                return ToolAnswer("What you leave is judged now.", summary=given["summary"])
            case _:
                return _KERNEL[name](self._bench, given)

    def verdicts(self) -> Verdicts:
        return law.read_verdicts(self._bench.project, self._file.record)

    def _take_plan(self, plan: Plan | BadPlan, *, marked: bool = False) -> ToolAnswer:
        """Records a plan; the answer does not repeat the steps that the model has just written."""
        if isinstance(plan, BadPlan):
            return answer_failure(plan.words)
        self._file.add(Planned(plan))
        odd = () if marked else lint_plan(plan, greenfield=not self._bench.has_tests())
        return ToolAnswer(
            "\n".join((count_steps(plan, self.verdicts()), *(f"lint: {fault}" for fault in odd)))
        )
