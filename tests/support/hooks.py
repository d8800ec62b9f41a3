"""Hook calls as Claude Code makes them, answered in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verdigris.gates.clients.claude.client import CLIENT
from verdigris.gates.clients.claude.quick import PREFIX
from verdigris.gates.gate import answer
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from support.turns import World
    from verdigris.gates.calls import HookAnswer


@dataclass(frozen=True, slots=True)
class Client:
    world: World
    session: str = "s1"
    agent: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def say(self, event: str, **fields: Any) -> dict[str, Any]:
        """The parts of the hook's answer that the client reads."""
        given = self.raw(event, **fields)
        assert given.exit_code == 0, given
        document = json.loads(given.stdout)
        assert isinstance(document, dict)
        if event in {"Stop", "SubagentStop"} and "hookSpecificOutput" in document:
            # The client goes on with this text, as if the stop were blocked.
            return {
                **document,
                "decision": "block",
                "reason": document["hookSpecificOutput"]["additionalContext"],
            }
        return document

    def raw(self, event: str, **fields: Any) -> HookAnswer:
        payload = {
            "hook_event_name": event,
            "session_id": self.session,
            "cwd": str(self.world.root),
            **fields,
        }
        if self.agent:
            payload["agent_id"] = self.agent
        where = {"CLAUDE_PROJECT_DIR": str(self.world.root), "HOME": str(self.world.repo.home)}
        confined = {PREFIX: str(find_repository(self.world.root).control / "shell")}
        return answer(CLIENT, json.dumps(payload).encode(), {**where, **confined, **self.environment})

    def before(self, tool: str, **arguments: Any) -> str:
        """`pass`, `ask`, or the rule of the denial."""
        decided = self.say("PreToolUse", tool_name=tool, tool_input=arguments).get("hookSpecificOutput", {})
        match decided.get("permissionDecision"):
            case None:
                return "pass"
            case "deny":
                return str(decided["permissionDecisionReason"]).split("[", 1)[1].split("]", 1)[0]
            case other:
                return str(other)

    def after(self, tool: str, event: str = "PostToolUse", **arguments: Any) -> str:
        """The text that the model gets."""
        said = self.say(event, tool_name=tool, tool_input=arguments)
        return str(said.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def unattended(self) -> Client:
        return Client(self.world, self.session, self.agent, {"CLAUDE_CODE_SESSION_ATTENDED": "0"})
