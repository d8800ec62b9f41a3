"""Finds the user's Python: the one whose packages the project's tests need, never by chance our own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.value import value
from verdigris.kernel.process import Command, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

How = Literal["configured", "project", "VIRTUAL_ENV", "PATH"]

_FOLDERS = (".venv", "venv", "env")
_PROBE = "import sys; sys.exit(sys.version_info < (3, 8))"
_PROBE_SECONDS = 30
_REMEMBERED = 20


@value
class Interpreter:
    path: Path
    """Not resolved: an environment is known by the link's own place."""
    how: How


def find_interpreter(
    stack_root: Path,
    worktree_root: Path,
    configured: str | None,
    env: Mapping[str, str],
    cache: Path | None = None,
) -> Interpreter:
    """`cache` is a file that remembers which interpreters were seen to execute."""
    probe = _Probe(env, cache)
    if configured is not None:
        return _configured(stack_root / configured, probe)
    for path, how in _candidates(stack_root, worktree_root, env):
        if probe.works(path):
            return Interpreter(path, how)
    raise ToolMissing(
        "no Python (3.8 or newer) that executes was found for the project's tests",
        hint="`python3 -m venv .venv && .venv/bin/pip install pytest`, or name one in tdd.yaml: `python:`",
    )


def _configured(path: Path, probe: _Probe) -> Interpreter:
    if probe.works(path):
        return Interpreter(path, "configured")
    reason = "does not execute as Python 3.8 or newer" if path.exists() else "does not exist"
    raise ConfigError(
        f"`python` in tdd.yaml: {path} {reason}",
        hint="give the path of an interpreter, relative to the stack's root, or leave the key out",
    )


def _candidates(stack_root: Path, worktree_root: Path, env: Mapping[str, str]) -> Iterator[tuple[Path, How]]:
    for root in dict.fromkeys((stack_root, worktree_root)):
        for folder in _FOLDERS:
            yield root / folder / "bin" / "python", "project"
    active = env.get("VIRTUAL_ENV")
    if active:
        yield Path(active) / "bin" / "python", "VIRTUAL_ENV"
    for name in ("python3", "python"):
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        if found:
            yield Path(found).absolute(), "PATH"


@value
class _Probe:
    env: Mapping[str, str]
    cache: Path | None

    def works(self, path: Path) -> bool:
        key = _identity(path)
        if key is None:
            return False
        known = self._read()
        if key in known:
            return True
        if not self._executes(path):
            return False
        self._write([*known, key][-_REMEMBERED:])
        return True

    def _executes(self, path: Path) -> bool:
        command = Command((str(path), "-I", "-c", _PROBE), path.parent, self.env)
        try:
            return run(command, timeout=_PROBE_SECONDS).exit_code == 0
        except ToolMissing:
            return False

    def _read(self) -> list[str]:
        try:
            known = json.loads(self.cache.read_bytes()) if self.cache else []
        except (OSError, ValueError):
            return []
        return [key for key in known if isinstance(key, str)] if isinstance(known, list) else []

    def _write(self, keys: list[str]) -> None:
        """Only saves time: a disk that refuses it is no reason to stop."""
        if self.cache is None:
            return
        fresh = self.cache.with_name(f"{self.cache.name}.{os.getpid()}")
        try:
            fresh.write_text(json.dumps(keys), encoding="ascii")
            fresh.replace(self.cache)
        except OSError:
            return


def _identity(path: Path) -> str | None:
    """Of the program behind the links; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return f"{path}:{status.st_dev}:{status.st_ino}:{status.st_mtime_ns}"
