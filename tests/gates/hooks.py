"""Claude Code's hook calls, for the tests of the gate's quick entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import verdigris
from support.turns import World
from verdigris.gates.clients.claude import quick as words
from verdigris.gates.quick import quick
from verdigris.gates.quick.fallback import NO_CLIENT, refresh

ENTRY = Path(verdigris.__file__).parent / "gates" / "entry.py"


def payload(world: World, tool: str, event: str = "PreToolUse", cwd: str = "", **arguments: Any) -> bytes:
    call = {"hook_event_name": event, "tool_name": tool, "tool_input": arguments, "session_id": "s1"}
    return json.dumps({"cwd": cwd or str(world.root), **call}).encode()


def write(world: World, path: str | Path, text: str = "x = 1\n") -> bytes:
    return payload(world, "Write", file_path=f"{world.root}/{path}", content=text)


def dealt(world: World) -> World:
    """With a fresh card."""
    assert refresh(world.project, {**NO_CLIENT, "home": quick.home(words)})
    return world


def judged(raw: bytes) -> quick.AllowedCall | None:
    """None is a doubt."""
    try:
        return quick.judge_call(raw, words)
    except Exception:  # noqa: BLE001 - as the entry sees it
        return None


def run(
    raw: bytes, event: str = "PreToolUse", *options: str, entry: Path = ENTRY, prefix: str = ""
) -> subprocess.CompletedProcess[str]:
    """`prefix`: the client's shell prefix, as a running client has it in its environment."""
    argv = [sys.executable, "-I", "-S", *options, os.fspath(entry), "claude", event]
    env = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    env["HOME"] = os.devnull  # the same for all, or each call makes the card anew
    if prefix:
        env["CLAUDE_CODE_SHELL_PREFIX"] = prefix
    done = subprocess.run(argv, input=raw, capture_output=True, check=False, env=env)
    return subprocess.CompletedProcess(argv, done.returncode, done.stdout.decode(), done.stderr.decode())
