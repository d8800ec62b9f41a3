"""Installs the gate into Claude Code's settings, removes it, and checks for `tdd doctor` whether it works."""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import VerdigrisError
from verdigris.gates.agent_shell.launcher import (
    HOOK,
    arguments,
    files_of,
    import_paths,
    write_hook_launcher,
    write_launcher,
    write_program,
)
from verdigris.gates.clients.claude.quick import LOCAL, NAME, PREFIX
from verdigris.gates.clients.claude.settings import (
    SHARED,
    SHELL,
    commands,
    place_of,
    prefix,
    with_hooks,
    without_hooks,
)
from verdigris.gates.clients.hook_settings import MARK, read_settings
from verdigris.gates.clients.installation import (
    SettingsFile,
    remove_settings,
    report_unwritable,
    write_settings,
)
from verdigris.setup.doctor_checks import DoctorFinding, failure
from verdigris.storage.repository import LINKED_MAIN, MAIN, Repository, find_repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.storage.project import Project


def install(project: Project, *, team: bool = False) -> tuple[str, ...]:
    """The files that were written; none when everything was as it should be. Safe to repeat.

    Shared settings that have our hooks are kept up to date, whoever asks.
    """
    _write_programs(project.repo)
    own, shared = _files(project.repo)
    shares = team or _has_ours(_settings(project.repo, SHARED))
    return write_settings(project, NAME, (own, shared) if shares else (own,))


def confine(project: Project) -> None:
    """Writes the personal settings, which a fresh clone or worktree lacks; the client reads them at once."""
    _write_programs(project.repo)
    write_settings(project, NAME, _files(project.repo)[:1])


def uninstall(project: Project) -> tuple[str, ...]:
    touched = remove_settings(project, NAME, _files(project.repo))
    for path in (*files_of(project.repo, NAME), project.repo.control / SHELL):
        with report_unwritable(path):
            path.unlink(missing_ok=True)
    return touched


def _files(repo: Repository) -> tuple[SettingsFile, SettingsFile]:
    """The personal settings, and those that are shared."""
    ours = partial(with_hooks, prefix=prefix(repo))
    own = SettingsFile(LOCAL, place_of(repo, LOCAL), ours, without_hooks, personal=True)
    return own, SettingsFile(SHARED, place_of(repo, SHARED), with_hooks, without_hooks)


WHICH = """\
#!/bin/sh
# The client stays in the worktree that it was started in, wherever its agent goes.
d=$(cd -P "/proc/$CLAUDE_PID/cwd" 2>/dev/null && pwd -P) n={main} c=${{0%/*}}
while [ -n "$d" ] && [ ! -e "$d/.git" ]; do d=${{d%/*}}; done
if [ -f "$d/.git" ]; then read -r _ g <"$d/.git"; n=${{g##*/}}; [ "$n" != {main} ] || n={linked}; fi
w=$c/worktrees/$n
if [ ! -x "$w/shell" ]; then
  [ -d "$c/../worktrees/${{g##*/}}" ] && mkdir -p "$w" && w=$(cd -P "$w" && pwd) &&
    exec {entry} "$d" "$w" {paths} "$@"
  w=$c/worktrees/{main}
fi
exec "$w/shell" "$@"
"""
"""One prefix for all worktrees: the client reads its personal settings in the main one, for each of them."""


def _write_programs(repo: Repository) -> None:
    write_launcher(repo)
    write_hook_launcher(repo, NAME, commands())
    entry, lines = shlex.join(arguments(repo)[:-3]), shlex.quote("\n".join(import_paths()))
    program = WHICH.format(entry=entry, paths=lines, main=MAIN, linked=LINKED_MAIN)
    write_program(repo.control / SHELL, program)


AGAIN = "`tdd init --agent claude`, then restart the client"
SECONDS = 30.0
_CODE = 7
_ROOM = 1 << 16
_ASKED = b'{"hook_event_name":"Notification"}'


def check(start: Path) -> DoctorFinding | None:
    """None if there is no repository: another finding says so."""
    try:
        repo = find_repository(start)
        shared, local = (_settings(repo, name) for name in (SHARED, LOCAL))
    except VerdigrisError as error:
        return failure(NAME, error.message, error.hint or AGAIN) if "settings" in error.message else None
    if not _has_ours(shared) and not _has_ours(local):
        what = "Claude Code is not connected; `tdd init --agent claude` connects it"
        return DoctorFinding(NAME, "ok", what)
    if off := _file_without_hooks(repo):
        return failure(NAME, f"{off} says disableAllHooks: no call is checked", "take that line out")
    of_ours = with_hooks(shared) if _has_ours(shared) else shared
    if of_ours != shared or with_hooks(local, prefix(repo)) != local:
        what = "Claude Code's hooks or shell prefix are missing or of another version"
        return DoctorFinding(NAME, "warn", what, AGAIN)
    return _try_programs(repo)


def _try_programs(repo: Repository) -> DoctorFinding:
    """The programs that the settings lead to, called as the client calls them."""
    if full := _full_disk(repo):
        return failure(
            NAME, f"the gate cannot write its log, so every call is blocked: {full}", "free some space"
        )
    code, out = _call_program([str(repo.control / HOOK), NAME, "Notification"], _ASKED)
    if (code, out.strip()) != (0, b"{}"):
        return failure(NAME, f"the hook does not answer (exit {code}), so every call is blocked", AGAIN)
    code, _ = _call_program([str(repo.control / SHELL), f"exit {_CODE}"])
    if code != _CODE:
        return failure(NAME, f"the shell prefix does not run commands (exit {code})", AGAIN)
    what = "the gate is in the client's settings, its hook answers, its shell prefix works"
    return DoctorFinding(NAME, "ok", what)


def _full_disk(repo: Repository) -> str:
    """Why nothing can be written where the log is; empty if something can."""
    try:
        with tempfile.TemporaryFile(dir=repo.control, buffering=0) as tried:
            return "" if tried.write(bytes(_ROOM)) == _ROOM else os.strerror(errno.ENOSPC)
    except OSError as error:
        return error.strerror or str(error)


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
        return read_settings(place_of(repo, name).read_bytes().decode(), name)
    except (OSError, UnicodeDecodeError):
        return {}


def _has_ours(settings: dict[str, object]) -> bool:
    text = json.dumps(settings)
    return MARK in text or PREFIX in text


def _file_without_hooks(repo: Repository) -> str:
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in (place_of(repo, SHARED), place_of(repo, LOCAL), home / "settings.json"):
        try:
            if json.loads(path.read_bytes()).get("disableAllHooks"):
                return str(path)
        except (OSError, ValueError, AttributeError):
            continue
    return ""
