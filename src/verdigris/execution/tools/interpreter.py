"""Finds the user's Python: the one with the packages that the project's tests need."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.records import from_json
from verdigris.core.value import value
from verdigris.execution.process import Command, Finished, run
from verdigris.sandbox.notes import recall, remember

How = Literal["configured", "project", "VIRTUAL_ENV", "PATH"]

_FOLDERS = (".venv", "venv", "env")
_MAKERS = (".tox", ".nox")
"""Folders with environments that a tool made for the project, of which only some are for its tests."""
_PACKAGES = {"pytest": "pytest", "django": "django"}
"""Runners that are packages."""
_PROBE = """
import json, site, sys, sysconfig
if sys.version_info < (3, 8):
    sys.exit(1)
own = site.getsitepackages()
user = [site.getusersitepackages()] if sys.base_prefix in site.PREFIXES else []
print(json.dumps({
    "prefix": sys.prefix,
    "library": sysconfig.get_path("stdlib"),
    "packages": [*own, *user],
    "cache_tag": sys.implementation.cache_tag or "",
}))
"""
_PROBE_SECONDS = 30
_REMEMBERED = 20


@value
class InterpreterPlaces:
    """The folders from which an interpreter loads code."""

    prefix: str
    library: str
    """The standard library's folder."""
    packages: tuple[str, ...]
    """Folders whose `.pth` files it reads when it starts."""
    cache_tag: str
    """The part of byte code file names that stands for this interpreter."""


@value
class Interpreter:
    path: Path
    """Links are not resolved: the place of the link decides the environment."""
    how: How
    places: InterpreterPlaces | None = None
    """None if it runs but does not answer."""


def find_interpreter(
    stack_root: Path,
    worktree_root: Path,
    configured: str | None,
    env: Mapping[str, str],
    cache: Path | None = None,
    runner: str = "pytest",
) -> Interpreter:
    """Finds the interpreter. `cache`: a file that remembers which interpreters run.

    An environment of tox or nox is taken only if it has the runner.
    """
    probe = _InterpreterQuery(worktree_root, env, cache)
    if configured is not None:
        return _use_configured(stack_root / configured, probe)
    package = _PACKAGES.get(runner, "")
    for candidate in _candidates(stack_root, worktree_root, env):
        seen = probe.look_at(candidate.path)
        if seen is not None and (not candidate.for_runner or seen.has(package)):
            return Interpreter(candidate.path, candidate.how, seen.places)
    raise ToolMissing(
        "no Python (3.8 or newer) that executes was found for the project's tests",
        hint="`python3 -m venv .venv && .venv/bin/pip install pytest`, or name one in tdd.yaml: `python:`",
    )


def _use_configured(path: Path, probe: _InterpreterQuery) -> Interpreter:
    seen = probe.look_at(path)
    if seen is not None:
        return Interpreter(path, "configured", seen.places)
    reason = "does not execute as Python 3.8 or newer" if path.exists() else "does not exist"
    raise ConfigError(
        f"`python` in tdd.yaml: {path} {reason}",
        hint="give the path of an interpreter, relative to the stack's root, or leave the key out",
    )


@value
class _Candidate:
    path: Path
    how: How
    for_runner: bool = False
    """It counts only if it has the runner."""


def _candidates(stack_root: Path, worktree_root: Path, env: Mapping[str, str]) -> Iterator[_Candidate]:
    roots = tuple(dict.fromkeys((stack_root, worktree_root)))
    for root in roots:
        for folder in _FOLDERS:
            yield _Candidate(_python_in(root / folder), "project")
    made = [path for root in roots for path in _made_environments(root)]
    active = env.get("VIRTUAL_ENV")
    if active:
        yield _Candidate(_python_in(Path(active)), "VIRTUAL_ENV", for_runner=bool(made))
    for path in made:
        yield _Candidate(path, "project", for_runner=True)
    if active and made:
        yield _Candidate(_python_in(Path(active)), "VIRTUAL_ENV")
    from shutil import which

    for name in ("python3", "python"):
        found = which(name, path=env.get("PATH", os.defpath))
        if found:
            yield _Candidate(Path(found).absolute(), "PATH")


def _python_in(environment: Path) -> Path:
    return environment / "bin" / "python"


def _made_environments(root: Path) -> list[Path]:
    """The interpreters that tox and nox made: `py311` and the like first, the newest version first."""
    found = (path for maker in _MAKERS for path in (root / maker).glob("*/bin/python"))
    return sorted(found, key=_rank)


def _rank(path: Path) -> tuple[bool, int, str]:
    name = path.parents[1].name
    digits = "".join(filter(str.isdigit, name.partition("-")[0]))
    return not name.startswith("py"), -int(digits or "0"), name


@value
class _InterpreterFacts:
    """What an interpreter said about itself."""

    places: InterpreterPlaces | None = None

    def has(self, package: str) -> bool:
        folders = self.places.packages if self.places else ()
        return not package or any(os.path.isdir(f"{folder}/{package}") for folder in folders)


@value
class _InterpreterQuery:
    """Asks interpreters about themselves, in a sandbox: an agent may have written their start-up files."""

    root: Path
    env: Mapping[str, str]
    cache: Path | None

    def look_at(self, path: Path) -> _InterpreterFacts | None:
        """The facts of an interpreter; None if there is no Python that runs."""
        key = _identity(path)
        if key is None:
            return None
        known = self._read()
        if key in known:
            return _InterpreterFacts(_places(known[key]))
        told = self._executes(path)
        if told is None:
            return None
        self._write(dict([*known.items(), (key, told)][-_REMEMBERED:]))
        return _InterpreterFacts(_places(told))

    def _executes(self, path: Path) -> str | None:
        from verdigris.sandbox.child import NOTE, forget, refusal
        from verdigris.storage.repository import sandbox_note

        note = self.cache.with_name(NOTE) if self.cache else sandbox_note(self.root)
        try:
            finished = self._run(path, note)
            if note and refusal(finished.exit_code, finished.output) is not None:
                forget(str(note))
                finished = self._run(path, note)
        except ToolMissing:
            return None
        return finished.output.decode("utf-8", "replace") if finished.exit_code == 0 else None

    def _run(self, path: Path, note: Path | None) -> Finished:
        from verdigris.sandbox.child import confine_query, environment_of

        argv = (str(path), "-I", "-c", _PROBE)
        with confine_query(self.root, note, reads=environment_of(path)) as confine:
            return run(Command(argv, path.parent, self.env, confine=confine), timeout=_PROBE_SECONDS)

    def _read(self) -> dict[str, str]:
        known = recall(self.cache) if self.cache else {}
        return {key: text for key, text in known.items() if isinstance(text, str)}

    def _write(self, known: dict[str, str]) -> None:
        if self.cache is not None:
            remember(self.cache, json.dumps(known).encode())


def _places(told: str) -> InterpreterPlaces | None:
    """Reads the last line: start-up files may print something before it."""
    try:
        return from_json(InterpreterPlaces, json.loads(told.strip().splitlines()[-1]))
    except (IndexError, ValueError, TypeError, AttributeError):
        return None


def _identity(path: Path) -> str | None:
    """Identifies the program behind the links, and its environment; None if there is no program."""
    try:
        status = path.stat()
    except OSError:
        return None
    try:
        made = (path.parent.parent / "pyvenv.cfg").stat().st_ctime_ns
    except OSError:
        made = 0
    return f"{path}:{status.st_dev}:{status.st_ino}:{status.st_ctime_ns}:{made}"
