"""Decides on what a client's tool will open, although processes of the agent live.

Such a process could put a link where the tool is about to write, after the gate has decided. So they are held
from before the decision until the next hook call. What the gate relies on is compared then, and put back.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.gates.calls import HookCall, Manner, Moment, readings
from verdigris.storage.calls.call_records import is_any_call
from verdigris.storage.calls.callers import open_edits
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.project import open_project
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.gates.clients.registry import Client

    Answer = tuple[int, str, str]
    """Exit code, output, errors."""


def decide_held(client: Client, raw: bytes, decide: Callable[[], Answer]) -> Answer:
    call = client.parse(raw, os.environ)
    start = Path(client.start(call, os.environ) or call.cwd or ".")
    try:
        private = str(find_repository(start).private)
    except (VerdigrisError, OSError):  # there is nothing to guard, and the decision says what is wrong
        return decide()
    if not is_any_call(private) and not open_edits(private, ""):
        return decide()
    from verdigris.storage.calls.held_processes import hold, let_go

    _end_earlier(private, call)
    astray = _may_be_led_astray(private, call)
    if astray and call.manner is not Manner.SHELL:
        hold(private)
    code, out, err = decide()
    if astray:
        if code or '"deny"' in out:
            let_go(private)
        else:
            _guard(private, start, call)
    return code, out, err


def _end_earlier(private: str, call: HookCall) -> None:
    """Before the log is read. A guard that is left belongs to a tool that works beside this one."""
    from verdigris.storage import relied_files
    from verdigris.storage.calls.held_processes import LONGEST, let_go

    relied_files.compare(private)
    match call.moment:
        case Moment.AFTER | Moment.FAILED:
            relied_files.end_guards(private, *_name(call))
        case Moment.STOP | Moment.SUBAGENT_STOP:
            relied_files.end_guards(private, call.actor.context)
        case Moment.PROMPT | Moment.START:
            relied_files.end_guards(private)
        case _:
            pass
    if not relied_files.is_guarded(private, since=time.time() - LONGEST):
        let_go(private)


def _name(call: HookCall) -> tuple[str, str]:
    """The agent, and what its call before and after a tool's work has in common."""
    return call.actor.context, repr((call.tool, call.command, call.strings))


def _may_be_led_astray(private: str, call: HookCall) -> bool:
    if call.moment is not Moment.BEFORE:
        return False
    match call.manner:
        case Manner.WRITES | Manner.FOREIGN:
            return alive(private)
        case Manner.SHELL:  # its processes would begin while another agent's tool writes
            return bool(open_edits(private, call.actor.context))
        case _:
            return False


def _guard(private: str, start: Path, call: HookCall) -> None:
    from verdigris.gates.agent_shell.git_regions import make_switches
    from verdigris.gates.agent_shell.places import places, relied_on
    from verdigris.storage import relied_files

    try:
        project = open_project(start, call.actor)
    except VerdigrisError:
        return
    make_switches(project.repo)  # a shell call that begins now would make them, and be taken for the tool
    here = Path(call.cwd or project.root)
    named = [str(here / name) for spelling in call.writes or () for name in readings(spelling)]
    edits = [str(project.root / path) for path in open_edits(private, "")]
    targets, relied = (*named, *edits), relied_on(project)
    relied_files.guard(private, _name(call), targets, relied, places(project, os.environ))
