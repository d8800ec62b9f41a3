"""Translates Claude Code's hook payloads to calls, and replies to its format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.records import Actor
from verdigris.gates.calls import EXPLAINED, SIGNS, HookAnswer, HookCall, Manner, Moment, Reply
from verdigris.gates.clients.claude.quick import NAME, OWN, READERS, SHELLS, WRITERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
NOBODY_IS_ASKED = frozenset({"bypassPermissions", "dontAsk"})
AN_AGENTS = frozenset({"TDD_ACTOR", "TDD_BROKER"})
"""Stand in the environment of an agent's shell call."""
MOST_STRINGS = 2_000
CAP = 8


def parse(raw: bytes, environment: Mapping[str, str]) -> HookCall:
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
        actor=Actor("agent", _text(payload, "agent_id") or _text(payload, "session_id"), NAME),
        session=_text(payload, "session_id"),
        cwd=_text(payload, "cwd"),
        attended=_is_attended(payload, environment),
        subagent=bool(_text(payload, "agent_id")),
        again=payload.get("stop_hook_active") is True,
        most_refusals=_cap(environment),
        stopped=() if EXPLAINED in raw else tuple(sign for sign in SIGNS if sign.encode() in raw),
        prompt=_text(payload, "prompt"),
        said=_text(payload, "last_assistant_message"),
        nested=not AN_AGENTS.isdisjoint(environment),
    )
    return _with_tool(call, payload) if "tool_name" in payload or _is_about_a_tool(call) else call


def _is_about_a_tool(call: HookCall) -> bool:
    return call.moment in {Moment.BEFORE, Moment.AFTER, Moment.FAILED}


def _with_tool(call: HookCall, payload: Mapping[str, Any]) -> HookCall:
    from verdigris.core.value import replace

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


def _is_attended(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    mode = _text(payload, "permission_mode")
    return mode not in NOBODY_IS_ASKED and environment.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"


def _cap(environment: Mapping[str, str]) -> int:
    given = environment.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < len("1000") else CAP


EVENTS = {
    Moment.BEFORE: "PreToolUse",
    Moment.AFTER: "PostToolUse",
    Moment.FAILED: "PostToolUseFailure",
    Moment.START: "SessionStart",
    Moment.SUBAGENT_START: "SubagentStart",
    Moment.PROMPT: "UserPromptSubmit",
}
NEVER_LOCKED_OUT = frozenset(Moment) - {Moment.BEFORE, Moment.AFTER, Moment.FAILED, Moment.JUNK}
"""Where our own fault must not stand in a person's way, and nothing is gained by it."""


def render(call: HookCall, reply: Reply) -> HookAnswer:
    match reply.kind:
        case "deny" | "ask":
            document = _permission(call, reply)
        case "send-back" | "answered":
            document = {"decision": "block", "reason": reply.text}
        case "pass":
            document = _context(call, reply)
    if reply.note:
        document["systemMessage"] = reply.note
    return HookAnswer(0, json.dumps(document))


def _permission(call: HookCall, reply: Reply) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": EVENTS.get(call.moment, "PreToolUse"),
            "permissionDecision": reply.kind,
            "permissionDecisionReason": reply.text,
        }
    }


def _context(call: HookCall, reply: Reply) -> dict[str, Any]:
    if not reply.text or call.moment not in EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": EVENTS[call.moment], "additionalContext": reply.text}}


def fault(call: HookCall, what: str, hint: str) -> HookAnswer:
    """Unexpected means no for the agent, and never locks a person out."""
    text = f"Verdigris cannot judge this call: {what.rstrip('.')}. next: {hint}"
    if call.moment in NEVER_LOCKED_OUT:
        return HookAnswer(0, json.dumps({"systemMessage": text}))
    return HookAnswer(2, stderr=text + "\n")


def writes(tool: str, arguments: Mapping[str, Any]) -> dict[str, Rewrite | None] | None:
    """None where the call names no file in the way that the tool takes one."""
    path = arguments.get(WRITERS[tool])
    if not isinstance(path, str) or not path:
        return None
    return {path: _rewrite(tool, arguments)}


def _rewrite(tool: str, arguments: Mapping[str, Any]) -> Rewrite | None:
    """None where the content cannot be told: it is then decided as if it were anything."""
    if tool == "Write":
        content = arguments.get("content")
        return (lambda _: _bytes(content)) if isinstance(content, str) else None
    edits = arguments.get("edits") if tool == "MultiEdit" else [arguments] if tool == "Edit" else None
    if not isinstance(edits, list) or not all(map(_is_edit, edits)):
        return None
    return lambda before: _apply_edits(before, edits)


def _is_edit(edit: Any) -> bool:
    return (
        isinstance(edit, dict)
        and all(isinstance(edit.get(key), str) for key in ("old_string", "new_string"))
        and isinstance(edit.get("replace_all", False), bool)
    )


def _apply_edits(before: bytes | None, edits: Iterable[Mapping[str, Any]]) -> bytes | None:
    """None where the old text does not stand there as given: the client may know better how to find it."""
    text = (before or b"").decode("utf-8", "surrogateescape")
    for edit in edits:
        old, new = edit["old_string"], edit["new_string"]
        if old not in text:
            text = text.replace("\r\n", "\n")
        if old not in text or (not old and text):
            return None
        text = text.replace(old, new, -1 if edit.get("replace_all") else 1)
    return _bytes(text)


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def manner(tool: str) -> Manner:
    if tool in WRITERS:
        return Manner.WRITES
    if tool in SHELLS:
        return Manner.SHELL
    if tool in READERS:
        return Manner.READS
    return Manner.OWN if tool in OWN else Manner.FOREIGN


def source(tool: str) -> str:
    """`mcp__SERVER` for a server's tool, else the tool itself."""
    return "__".join(tool.split("__")[:2]) if tool.startswith("mcp__") else tool
