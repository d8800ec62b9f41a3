"""From a reply to Claude Code's dialect: an exit code, a JSON document, words on stderr."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.gates.calls import Answer, Moment, Reply

if TYPE_CHECKING:
    from verdigris.gates.calls import Call

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


def render(call: Call, reply: Reply) -> Answer:
    match reply.kind:
        case "deny" | "ask":
            document = _permission(call, reply)
        case "send-back" | "answered":
            document = {"decision": "block", "reason": reply.text}
        case "pass":
            document = _context(call, reply)
    if reply.note:
        document["systemMessage"] = reply.note
    return Answer(0, json.dumps(document))


def _permission(call: Call, reply: Reply) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": EVENTS.get(call.moment, "PreToolUse"),
            "permissionDecision": reply.kind,
            "permissionDecisionReason": reply.text,
        }
    }


def _context(call: Call, reply: Reply) -> dict[str, Any]:
    if not reply.text or call.moment not in EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": EVENTS[call.moment], "additionalContext": reply.text}}


def fault(call: Call, what: str, hint: str) -> Answer:
    """Unexpected means no for the agent, and never locks a person out."""
    text = f"Verdigris cannot judge this call: {what.rstrip('.')}. next: {hint}"
    if call.moment in NEVER_LOCKED_OUT:
        return Answer(0, json.dumps({"systemMessage": text}))
    return Answer(2, stderr=text + "\n")
