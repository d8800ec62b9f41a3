"""Carries out one tool call of a model: the law decides in the tools, and every call gets an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import StorageError, VerdigrisError
from verdigris.core.value import value
from verdigris.drivers.code.grants import Permission, deny_without_yes
from verdigris.drivers.code.kernel_answers import in_tools
from verdigris.drivers.code.plan import (
    BadPlan,
    Plan,
    count_steps,
    lint_plan,
    mark_step,
    read_plan,
    revise_plan,
)
from verdigris.drivers.code.session_file import Planned
from verdigris.drivers.code.tools import files, law
from verdigris.drivers.code.tools.shell import shell
from verdigris.drivers.code.tools.table import EDITING, READING
from verdigris.drivers.code.tools.workbench import ToolAnswer, denied, failed
from verdigris.models.tool_calls import BadArguments, read_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from verdigris.drivers.code.plan import Verdicts
    from verdigris.drivers.code.session_file import SessionFile
    from verdigris.drivers.code.tools.workbench import Workbench
    from verdigris.models.protocol import ToolCall, ToolSpec


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
    """The calls since the person last spoke, the newest last; each with whether it only reads."""

    recent: tuple[tuple[str, bool], ...] = ()

    def after(self, name: str, arguments: Mapping[str, Any], *, reads: bool) -> CallHistory:
        """A call that may change files makes it worth while to read them again."""
        before = self.recent if reads else tuple(call for call in self.recent if not call[1])
        return CallHistory((*before, (_signature(name, arguments), reads))[-WINDOW:])

    def suppresses(self, name: str, arguments: Mapping[str, Any]) -> bool:
        seen = [signature for signature, _ in self.recent[-(WINDOW - 1) :]]
        return seen.count(_signature(name, arguments)) >= MOST - 1


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
    """Asks about a tool and what it is to do; None: nobody is there to be asked."""

    def __init__(self, bench: Workbench, file: SessionFile, tools: tuple[ToolSpec, ...]) -> None:
        self._bench, self._file = bench, file
        self._tools = {tool.name: tool for tool in tools}
        self._history = CallHistory()

    def forget_calls(self) -> None:
        """The person has spoken: what was repeated before may make sense again."""
        self._history = CallHistory()

    def carry_out(
        self, call: ToolCall, *, finish: str = "", begin: Callable[[], object] | None = None
    ) -> ToolAnswer:
        """Never without an answer; only a disk that fails ends the session (StorageError).

        `begin` is called when nothing is in the call's way any more.
        """
        tool = self._tools.get(call.name)
        if tool is None:
            return failed(f"There is no tool {call.name!r}; there are {', '.join(sorted(self._tools))}.")
        given = read_arguments(call, tool, finish=finish)
        if isinstance(given, BadArguments):
            return failed(given.words)
        repeated = self._history.suppresses(call.name, given)
        self._history = self._history.after(call.name, given, reads=call.name in READING)
        if repeated:
            return ToolAnswer(describe_suppression(call.name), "suppressed")
        if not self._is_allowed(call, given):
            return denied(deny_without_yes(call.name))
        if begin is not None:
            begin()
        try:
            answer = self._run(call.name, given)
        except StorageError:
            raise
        except VerdigrisError as error:
            hint = f"\nnext: {in_tools(error.hint)}" if error.hint else ""
            answer = failed(f"{in_tools(error.message)}{hint}")
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
        return law.verdicts_since(self._bench.project, self._file.record.start)

    def _take_plan(self, plan: Plan | BadPlan, *, marked: bool = False) -> ToolAnswer:
        """The answer does not repeat the steps that the model has just written."""
        if isinstance(plan, BadPlan):
            return failed(plan.words)
        self._file.add(Planned(plan))
        odd = () if marked else lint_plan(plan, greenfield=not self._bench.has_tests())
        return ToolAnswer("\n".join((count_steps(plan, self.verdicts()), *(f"lint: {one}" for one in odd))))
