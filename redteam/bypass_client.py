"""What Claude Code does with a tool call: asks the hooks, carries it out, tells the hooks."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redteam import bypass_project as project
from verdigris.gates.clients.claude.settings import HOOKS, command

if TYPE_CHECKING:
    from pathlib import Path

REFUSED = 2
COMMANDS = {hook.event: command(hook) for hook in HOOKS}
"""As `tdd init` writes them into the client's settings, which it reads once."""


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    output: str


@dataclass(frozen=True, slots=True)
class Said:
    denied: bool
    reason: str = ""
    input: dict[str, Any] | None = None


def hooked(root: Path, payload: dict[str, Any]) -> Said:
    """One hook call; whoever would be asked is not there."""
    command = COMMANDS[payload["hook_event_name"]]
    done = project.run(root, "/bin/sh", "-c", command, given=json.dumps(payload))
    if done.returncode == REFUSED:
        return Said(denied=True, reason=done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"the hook ended with {done.returncode}: {done.stderr}")
    answer = json.loads(done.stdout or "{}").get("hookSpecificOutput", {})
    denied = answer.get("permissionDecision") in {"deny", "ask"}
    return Said(denied, answer.get("permissionDecisionReason", ""), answer.get("updatedInput"))


def shell_prefix(root: Path) -> str | None:
    for name in ("settings.local.json", "settings.json"):
        file = root / ".claude" / name
        if file.is_file():
            prefix = json.loads(file.read_text()).get("env", {}).get("CLAUDE_CODE_SHELL_PREFIX")
            if prefix:
                return str(prefix)
    return None


def carry_out(root: Path, payload: dict[str, Any], *, prefix: str | None) -> Done:
    given = payload["tool_input"]
    match payload["tool_name"]:
        case "Bash":
            return _shell(root, given["command"], prefix)
        case "Write":
            _write(root, given["file_path"], given["content"])
        case "Edit":
            _edit(root, given["file_path"], [(given["old_string"], given["new_string"])])
        case "MultiEdit":
            edits = [(e["old_string"], e["new_string"]) for e in given["edits"]]
            _edit(root, given["file_path"], edits)
        case "NotebookEdit":
            _write(root, given["notebook_path"], given["new_source"])
        case "Grep" | "Read" | "Glob":
            return Done(0, "")
        case "apply_patch":
            _patch(root, given["command"])
        case _:
            _unknown(root, given)
    return Done(0, "")


def _shell(root: Path, command: str, prefix: str | None) -> Done:
    words = command if prefix is None else f"{prefix} {shlex.quote(command)}"
    done = project.run(root, "/bin/bash", "-c", words)
    return Done(done.returncode, done.stdout + done.stderr)


def _write(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _edit(root: Path, name: str, edits: list[tuple[str, str]]) -> None:
    text = (root / name).read_text()
    for old, new in edits:
        text = text.replace(old, new)
    _write(root, name, text)


def _patch(root: Path, text: str) -> None:
    """Enough of the format for what the collection holds: one file, lines taken out and put in."""
    name = next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("*** Update File"))
    gone = [line[1:] for line in text.splitlines() if line.startswith("-")]
    come = [line[1:] for line in text.splitlines() if line.startswith("+")]
    _edit(root, name, [("\n".join(gone), "\n".join(come))])


def _unknown(root: Path, given: dict[str, Any]) -> None:
    """Some server's editor: by the argument that names a file of the project."""
    name = next(v for v in given.values() if isinstance(v, str) and (root / v).is_file())
    edits = [(e["oldText"], e["newText"]) for e in given.get("edits", ())]
    if edits:
        _edit(root, name, edits)
    else:
        _write(root, name, str(given.get("body", "")))
