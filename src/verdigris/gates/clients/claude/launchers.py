"""The programs in the control area that the client's settings lead to: the hook's, and the shell prefix."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.gates.agent_shell.installation import import_paths, interpreter
from verdigris.gates.agent_shell.launcher import (
    HOOKS,
    arguments,
    launcher,
    write_hook_commands,
    write_launcher,
)
from verdigris.gates.clients.claude.settings import commands
from verdigris.storage.repository import LINKED_MAIN, MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.storage.repository import Repository

HOOK, SHELL = "hook", "shell"
PATHS = "TDD_PATHS"
ENTRY = Path(__file__).resolve().parents[2] / "entry.py"
WHICH = """\
#!/bin/sh
# The client stays in the worktree that it was started in, wherever its agent goes.
d=$(cd -P "/proc/$CLAUDE_PID/cwd" 2>/dev/null && pwd -P) n={main}
while [ -n "$d" ] && [ ! -e "$d/.git" ]; do d=${{d%/*}}; done
if [ -f "$d/.git" ]; then read -r _ g <"$d/.git"; n=${{g##*/}}; [ "$n" != {main} ] || n={linked}; fi
if [ ! -x {folder}/"$n"/shell ]; then
  [ -d {linked_ones}/"${{g##*/}}" ] && mkdir -p {folder}/"$n" && exec {entry} "$d" {folder}/"$n" {paths} "$@"
  n={main}
fi
exec {folder}/"$n"/shell "$@"
"""
"""One prefix for all worktrees: the client reads its personal settings in the main one, for each of them."""


def prefix(repo: Repository) -> str:
    """The client takes what follows the last ` -` for options, and a folder's name may hold one."""
    path = str(repo.control / SHELL)
    return f"{path} -c" if " -" in path else path


def write(repo: Repository) -> None:
    write_launcher(repo)
    write_hook_commands(repo, commands())
    call = shlex.join([interpreter(), "-I", "-S", str(ENTRY)])
    paths = shlex.quote(os.pathsep.join(import_paths()))
    _put(repo.control / HOOK, f'#!/bin/sh\n{PATHS}={paths} exec {call} "$@"\n')
    folder = shlex.quote(str(repo.private.parent))
    entry, linked_ones = shlex.join(arguments(repo)[:-3]), shlex.quote(str(repo.common_dir / "worktrees"))
    lines = shlex.quote("\n".join(import_paths()))
    names = {"main": MAIN, "linked": LINKED_MAIN, "folder": folder, "linked_ones": linked_ones}
    _put(repo.control / SHELL, WHICH.format(entry=entry, paths=lines, **names))


def _put(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with changing(path):
        fresh.write_bytes(os.fsencode(text))
        fresh.chmod(0o755)
        fresh.replace(path)


def remove(repo: Repository) -> None:
    for path in (repo.control / HOOK, repo.control / HOOKS, repo.control / SHELL, launcher(repo)):
        with changing(path):
            path.unlink(missing_ok=True)


@contextmanager
def changing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path.name} cannot be changed: {error.strerror}", hint="make it writable and try again"
        ) from error


def paths(environment: Mapping[str, str]) -> list[str]:
    """Where the launcher says that our packages lie: no interpreter's own start-up files are asked."""
    return [path for path in environment.get(PATHS, "").split(os.pathsep) if path]
