"""From Claude Code's hook payload to a call: any bytes have an answer, junk is a call that says so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.actions import Actor
from verdigris.gates.calls import EXPLAINED, SIGNS, Call, Manner, Moment
from verdigris.gates.clients.claude.edits import WRITERS, writes
from verdigris.gates.clients.claude.tools import manner, source

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT = "claude"
MOMENTS = {
    "PreToolUse": Moment.BEFORE,
    "PostToolUse": Moment.AFTER,
    "PostToolUseFailure": Moment.FAILED,
    "Stop": Moment.STOP,
    "SubagentStart": Moment.SUBAGENT_START,
    "SubagentStop": Moment.SUBAGENT_STOP,
    "SessionStart": Moment.START,
    "UserPromptSubmit": Moment.PROMPT,
}
NOBODY_IS_ASKED = frozenset({"bypassPermissions", "dontAsk"})
AN_AGENTS = frozenset({"TDD_ACTOR", "TDD_BROKER"})
"""Stand in the environment of an agent's shell call."""
MOST_STRINGS = 2_000
CAP = 8


def parse(raw: bytes, environment: Mapping[str, str], *, confined: bool = False) -> Call:
    try:
        payload = json.loads(raw.decode())
    except (ValueError, RecursionError) as error:
        return Call(Moment.JUNK, fault=f"the hook call is not JSON ({type(error).__name__})")
    if not isinstance(payload, dict):
        return Call(Moment.JUNK, fault="the hook call is no JSON object")
    name = payload.get("hook_event_name")
    if not isinstance(name, str):
        return Call(Moment.JUNK, fault="the hook call names no event")
    moment = MOMENTS.get(name)
    if moment is None and "tool_name" in payload:
        return Call(Moment.JUNK, fault=f"{name} is no hook event that this version knows")
    call = Call(
        moment or Moment.OTHER,
        actor=Actor("agent", _text(payload, "agent_id") or _text(payload, "session_id"), CLIENT),
        session=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        attended=_attended(payload, environment),
        confined=confined,
        subagent=bool(_text(payload, "agent_id")),
        again=payload.get("stop_hook_active") is True,
        most_refusals=_cap(environment),
        stopped=() if EXPLAINED in raw else tuple(sign for sign in SIGNS if sign.encode() in raw),
        prompt=_text(payload, "prompt"),
        nested=not AN_AGENTS.isdisjoint(environment),
    )
    return _with_tool(call, payload) if "tool_name" in payload or _is_about_a_tool(call) else call


def _is_about_a_tool(call: Call) -> bool:
    return call.moment in {Moment.BEFORE, Moment.AFTER, Moment.FAILED}


def _with_tool(call: Call, payload: Mapping[str, Any]) -> Call:
    from dataclasses import replace

    tool, arguments = payload.get("tool_name"), payload.get("tool_input")
    if not isinstance(tool, str) or not tool:
        return replace(call, fault="the tool call names no tool")
    call = replace(call, tool=tool, manner=manner(tool), source=source(tool), strings=_strings(arguments))
    if not isinstance(arguments, dict):
        return call if call.manner is not Manner.WRITES else replace(call, writes=None)
    if tool in WRITERS:
        return replace(call, writes=writes(tool, arguments))
    return replace(call, command=_text(arguments, "command")) if call.manner is Manner.SHELL else call


def _strings(arguments: Any) -> tuple[str, ...] | None:
    """Keys too: some tools take files as a mapping from path to content."""
    found: dict[str, None] = {}
    waiting = [arguments]
    while waiting:
        match waiting.pop():
            case str() as text:
                found[text] = None
            case dict() as mapping:
                waiting += [*mapping.keys(), *mapping.values()]
            case list() as items:
                waiting += items
        if len(found) > MOST_STRINGS:
            return None
    return tuple(found)


def _text(payload: Mapping[str, Any], key: str) -> str:
    found = payload.get(key)
    return found if isinstance(found, str) else ""


def _attended(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    mode = _text(payload, "permission_mode")
    return mode not in NOBODY_IS_ASKED and environment.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"


def _cap(environment: Mapping[str, str]) -> int:
    given = environment.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < len("1000") else CAP
