"""The gate in front of a coding agent: one hook call in, its dialect out, whatever happens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.core.value import replace
from verdigris.gates.calls import PASS, HookAnswer, HookCall, Moment, Reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.gates.clients.registry import Client
    from verdigris.storage.project import Project


def answer(
    client: Client,
    raw: bytes,
    environment: Mapping[str, str] | None = None,
    project: Project | None = None,
) -> HookAnswer:
    """Total: our own fault is a refusal for the agent and no obstacle for a person.

    `project`: the one that the call is about, where it is open already.
    """
    call = HookCall(Moment.JUNK)
    try:
        given = os.environ if environment is None else environment
        call = client.parse(raw, given)
        if call.fault:
            return client.fault(call, call.fault, "report it; a person may go on by hand")
        if call.moment is Moment.OTHER:
            return client.render(call, PASS)
        return _decide(client, call, given, project)
    except VerdigrisError as error:
        return client.fault(call, error.message, error.hint or "`tdd doctor`")
    except Exception as error:  # noqa: BLE001 - the last line of defence: whatever else comes is our fault
        what = f"our own fault, {type(error).__name__}: {error}"
        return client.fault(call, what, "`tdd doctor`, and report it")


def _decide(
    client: Client, call: HookCall, environment: Mapping[str, str], opened: Project | None
) -> HookAnswer:
    from verdigris.gates.agent_shell.launcher import add_import_paths

    add_import_paths(environment)
    from verdigris.storage.project import open_project

    if opened is None:
        project = open_project(_start(client, call, environment), call.actor)
    else:
        project = replace(opened, actor=call.actor)
    around = client.surroundings(project, environment)
    call = replace(call, confined=around.confined, confinable=around.confinable, guarded=around.guarded)
    return client.render(call, _reply(client, project, call))


def _start(client: Client, call: HookCall, environment: Mapping[str, str]) -> Path:
    named = client.start(call, environment)
    return Path(named) if named and "\0" not in named else Path.cwd()


def _reply(client: Client, project: Project, call: HookCall) -> Reply:
    match call.moment:
        case Moment.BEFORE:
            from verdigris.gates.tool_use import before

            return before(project, call)
        case Moment.AFTER | Moment.FAILED:
            from verdigris.gates.tool_use import after

            return after(project, call)
        case Moment.STOP | Moment.SUBAGENT_STOP:
            from verdigris.gates.stops import stop, subagent_stop

            return stop(project, call) if call.moment is Moment.STOP else subagent_stop(project, call)
        case Moment.START:
            from verdigris.gates.prompts import start

            if not call.confined and call.confinable:
                client.confine(project)
            return start(project, call)
        case Moment.SUBAGENT_START:
            from verdigris.gates.prompts import subagent_start

            return subagent_start(project, call)
        case Moment.PROMPT:
            from verdigris.gates.prompts import prompt

            return prompt(project, call)
        case Moment.OTHER | Moment.JUNK:
            return PASS
