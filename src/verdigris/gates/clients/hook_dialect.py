"""The format of hook calls and answers that several coding agents share: JSON in, JSON or exit code 2 out.

A client says what is its own: its name, its tools, and what their arguments write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import ACTOR, BROKER
from verdigris.core.records import Actor
from verdigris.core.value import replace, value
from verdigris.gates.calls import EXPLAINED, SIGNS, HookAnswer, HookCall, Manner, Moment, Reply
from verdigris.gates.clients.hook_settings import refusal

if TYPE_CHECKING:
    from verdigris.turns.write import Rewrite


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
_EVENTS: dict[Moment, str] = {moment: event for event, moment in MOMENTS.items()}
_ABOUT_TOOLS = frozenset({Moment.BEFORE, Moment.AFTER, Moment.FAILED})
NEVER_LOCKED_OUT = frozenset(Moment) - {*_ABOUT_TOOLS, Moment.JUNK}
"""Where our own fault must not stand in a person's way, and nothing is gained by it."""
MOST_STRINGS = 2_000

Payload = Mapping[str, Any]


@value
class HookDialect:
    client: str
    manner: Callable[[str], Manner]
    """What a tool does with files."""
    writes: Callable[[str, Payload], dict[str, Rewrite | None] | None]
    """By tool and arguments, what a writing tool makes of which file; None if the call does not say."""
    is_attended: Callable[[Payload, Mapping[str, str]], bool]
    """By payload and environment, whether somebody can be asked."""
    most_refusals: Callable[[Mapping[str, str]], int]
    """By environment, how many stops in a row a hook may refuse."""

    def parse(self, raw: bytes, environment: Mapping[str, str]) -> HookCall:
        try:
            payload = json.loads(raw.decode())
        except (ValueError, RecursionError) as error:
            return HookCall(Moment.JUNK, fault=f"the hook call is not JSON ({type(error).__name__})")
        if not isinstance(payload, dict):
            return HookCall(Moment.JUNK, fault="the hook call is no JSON object")
        name = payload.get("hook_event_name")
        if not isinstance(name, str):
            return HookCall(Moment.JUNK, fault="the hook call names no event")
        moment = MOMENTS.get(name)
        if moment is None and "tool_name" in payload:
            return HookCall(Moment.JUNK, fault=f"{name} is no hook event that this version knows")
        call = HookCall(
            moment or Moment.OTHER,
            actor=Actor("agent", text(payload, "agent_id") or text(payload, "session_id"), self.client),
            session=text(payload, "session_id"),
            cwd=text(payload, "cwd"),
            attended=self.is_attended(payload, environment),
            subagent=bool(text(payload, "agent_id")),
            again=payload.get("stop_hook_active") is True,
            most_refusals=self.most_refusals(environment),
            stopped=() if EXPLAINED in raw else tuple(sign for sign in SIGNS if sign.encode() in raw),
            prompt=text(payload, "prompt"),
            said=text(payload, "last_assistant_message"),
            nested=ACTOR in environment or BROKER in environment,
        )
        return self._with_tool(call, payload) if "tool_name" in payload or moment in _ABOUT_TOOLS else call

    def _with_tool(self, call: HookCall, payload: Payload) -> HookCall:
        tool, arguments = payload.get("tool_name"), payload.get("tool_input")
        if not isinstance(tool, str) or not tool:
            return replace(call, fault="the tool call names no tool")
        manner = self.manner(tool)
        call = replace(call, tool=tool, manner=manner, source=_source(tool), strings=_strings(arguments))
        if not isinstance(arguments, dict):
            return call
        if manner is Manner.WRITES:
            return replace(call, writes=self.writes(tool, arguments))
        return replace(call, command=text(arguments, "command")) if manner is Manner.SHELL else call


def text(payload: Payload, key: str) -> str:
    found = payload.get(key)
    return found if isinstance(found, str) else ""


def _source(tool: str) -> str:
    """`mcp__SERVER` for a server's tool, else the tool itself."""
    return "__".join(tool.split("__")[:2]) if tool.startswith("mcp__") else tool


def _strings(arguments: Any) -> tuple[str, ...] | None:
    """Keys too: some tools take files as a mapping from path to content."""
    found: dict[str, None] = {}
    waiting = [arguments]
    while waiting:
        match waiting.pop():
            case str() as word:
                found[word] = None
            case dict() as mapping:
                waiting += [*mapping.keys(), *mapping.values()]
            case list() as items:
                waiting += items
        if len(found) > MOST_STRINGS:
            return None
    return tuple(found)


def render(call: HookCall, reply: Reply) -> HookAnswer:
    match reply.kind:
        case "deny" | "ask":
            document = _permission(call, reply)
        case "answered":
            document = {"decision": "block", "reason": reply.text}
        case "pass" | "send-back":
            document = _context(call, reply)
    if reply.note:
        document["systemMessage"] = reply.note
    return HookAnswer(0, json.dumps(document))


def _permission(call: HookCall, reply: Reply) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": _EVENTS.get(call.moment, "PreToolUse"),
            "permissionDecision": reply.kind,
            "permissionDecisionReason": reply.text,
        }
    }


def _context(call: HookCall, reply: Reply) -> dict[str, Any]:
    """At a stop the client goes on with it; a decision to block is told twice, once after our command."""
    if not reply.text or call.moment not in _EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": _EVENTS[call.moment], "additionalContext": reply.text}}


def fault(call: HookCall, what: str, hint: str) -> HookAnswer:
    """Unexpected means no for the agent, and never locks a person out."""
    said = f"Verdigris cannot judge this call: {what.rstrip('.')}. next: {hint}"
    if call.moment in NEVER_LOCKED_OUT:
        return HookAnswer(0, json.dumps({"systemMessage": said}))
    if call.moment is Moment.JUNK:
        return HookAnswer(2, stderr=said + "\n")
    return HookAnswer(0, json.dumps(refusal(_EVENTS[call.moment], said)))
