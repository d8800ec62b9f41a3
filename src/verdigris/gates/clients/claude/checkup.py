"""Checks for `tdd doctor`: is the gate there, does it answer, is the shell confined?"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.gates.agent_shell.launcher import HOOK
from verdigris.gates.clients.claude.install import SHELL, prefix
from verdigris.gates.clients.claude.quick import NAME
from verdigris.gates.clients.claude.settings import LOCAL, PREFIX, SHARED, place_of, read, with_hooks
from verdigris.setup.doctor_checks import DoctorFinding
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.storage.repository import Repository


AGAIN = "`tdd init --agent claude`, then start the client anew"
SECONDS = 30.0
_CODE = 7
_ASKED = b'{"hook_event_name":"Notification"}'


def check(start: Path) -> DoctorFinding | None:
    """None where there is no repository: another finding says so."""
    try:
        repo = find_repository(start)
        shared, local = (_settings(repo, name) for name in (SHARED, LOCAL))
    except VerdigrisError as error:
        return _bad(error.message, error.hint or AGAIN) if "settings" in error.message else None
    if not _ours(shared) and not _ours(local):
        return DoctorFinding(
            NAME, "ok", "Claude Code is not connected; `tdd init --agent claude` connects it"
        )
    if off := _switched_off(repo):
        return _bad(f"{off} says disableAllHooks: nothing stands before the agent", "take that line out")
    if with_hooks(shared) != shared or with_hooks(local, prefix(repo)) != local:
        return DoctorFinding(
            NAME, "warn", "Claude Code's hooks or shell prefix are missing or of another version", AGAIN
        )
    return _try_programs(repo)


def _try_programs(repo: Repository) -> DoctorFinding:
    """The programs that the settings lead to, called as the client calls them."""
    code, out = _call_program([str(repo.control / HOOK), NAME, "Notification"], _ASKED)
    if (code, out.strip()) != (0, b"{}"):
        return _bad(f"the hook does not answer (exit {code}), so every call is blocked", AGAIN)
    code, _ = _call_program([str(repo.control / SHELL), f"exit {_CODE}"])
    if code != _CODE:
        return _bad(f"the shell prefix does not run commands (exit {code})", AGAIN)
    return DoctorFinding(
        NAME, "ok", "the gate is in the client's settings, its hook answers, its shell prefix works"
    )


def _call_program(argv: Sequence[str], given: bytes = b"") -> tuple[int, bytes]:
    environment = {name: text for name, text in os.environ.items() if name != "CLAUDE_PID"}
    try:
        done = subprocess.run(
            argv, input=given, env=environment, capture_output=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return -1, b""
    return done.returncode, done.stdout


def _settings(repo: Repository, name: str) -> dict[str, object]:
    try:
        return read(place_of(repo, name).read_bytes().decode(), name)
    except (OSError, UnicodeDecodeError):
        return {}


def _ours(settings: dict[str, object]) -> bool:
    return "tdd/hook" in json.dumps(settings) or PREFIX in json.dumps(settings)


def _switched_off(repo: Repository) -> str:
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in (place_of(repo, SHARED), place_of(repo, LOCAL), home / "settings.json"):
        try:
            if json.loads(path.read_bytes()).get("disableAllHooks"):
                return str(path)
        except (OSError, ValueError, AttributeError):
            continue
    return ""


def _bad(what: str, fix: str) -> DoctorFinding:
    return DoctorFinding(NAME, "fail", what, fix)
