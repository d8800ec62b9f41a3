"""The gate for Claude Code: one hook call in, one answer out, whatever happens."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.gates.calls import PASS, Answer, Call, Moment, Reply
from verdigris.gates.clients.claude.dialect import fault, parse, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.storage.project import Project


def answer(
    raw: bytes, environment: Mapping[str, str] | None = None, project: Project | None = None
) -> Answer:
    """Total: our own fault is a refusal for the agent and no obstacle for a person.

    `project`: the one that the call is about, where it is open already.
    """
    call = Call(Moment.JUNK)
    try:
        given = os.environ if environment is None else environment
        call = parse(raw, given)
        if call.fault:
            return fault(call, call.fault, "report it; a person may go on by hand")
        if call.moment is Moment.OTHER:
            return render(call, PASS)
        return _answered(call, given, project)
    except VerdigrisError as error:
        return fault(call, error.message, error.hint or "`tdd doctor`")
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever else comes is our fault
        return fault(call, f"our own fault, {type(error).__name__}: {error}", "`tdd doctor`, and report it")


def _answered(call: Call, environment: Mapping[str, str], opened: Project | None) -> Answer:
    from verdigris.gates.clients.claude.install import paths

    sys.path += [path for path in paths(environment) if path not in sys.path]
    from verdigris.gates.clients.claude.surroundings import surroundings
    from verdigris.storage.project import open_project

    if opened is None:
        project = open_project(_start(call, environment), call.actor)
    else:
        project = replace(opened, actor=call.actor)
    confined, confinable, guarded = surroundings(project, environment)
    call = replace(call, confined=confined, confinable=confinable, guarded=guarded)
    return render(call, _reply(project, call))


def _confine(project: Project, call: Call) -> None:
    if not call.confined and call.confinable:
        from verdigris.gates.clients.claude.install import confine

        confine(project)


def _start(call: Call, environment: Mapping[str, str]) -> Path:
    """The client's word for where its project is; the call's folder follows an agent's `cd`."""
    named = environment.get("CLAUDE_PROJECT_DIR") or call.cwd
    return Path(named) if named and "\0" not in named else Path.cwd()


def _reply(project: Project, call: Call) -> Reply:
    match call.moment:
        case Moment.BEFORE:
            from verdigris.gates.before import before

            return before(project, call)
        case Moment.AFTER | Moment.FAILED:
            from verdigris.gates.after import after

            return after(project, call)
        case Moment.STOP | Moment.SUBAGENT_STOP:
            from verdigris.gates.stops import stop, subagent_stop

            return stop(project, call) if call.moment is Moment.STOP else subagent_stop(project, call)
        case Moment.START:
            from verdigris.gates.session import start

            _confine(project, call)
            return start(project, call)
        case Moment.SUBAGENT_START:
            from verdigris.gates.session import subagent_start

            return subagent_start(project, call)
        case Moment.PROMPT:
            from verdigris.gates.session import prompt

            return prompt(project, call)
        case Moment.OTHER | Moment.JUNK:
            return PASS
