"""Finds Go, and keeps its build cache for test runs."""

# Paths are text: they go into variables and arguments.
# ruff: noqa: PTH112

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value
from verdigris.execution.tools.lookup import OURS, program
from verdigris.execution.tools.runs import Prepared, cache_folder, run_in_room
from verdigris.runners.gotest import GoRunner
from verdigris.runners.protocol import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.runs import RunPlace
    from verdigris.runners.protocol import TestRequest
    from verdigris.storage.project import Project


CACHE = "GOCACHE"
_MODULES = ("go.mod", "go.sum", "go.work", "go.work.sum")
_MANY = 20
"""Changed files that every run compiles anew, before they are worth a build of their own."""


@value
class GoCache:
    runner: GoRunner

    def prepare(self, place: RunPlace, stack: Stack, request: TestRequest, spare: str) -> Prepared:
        """It goes by content, so nothing in it is ever out of date, and all worktrees share it.

        To compile apart costs the linking of every test binary once more, so a few changed files do not.
        """
        project, place = place.project, place.with_env({CACHE: spare})
        folder = cache_folder(project.repo.control, "go")
        cache = folder / "cache"
        cache.mkdir(exist_ok=True)
        tree = project.workspace.snapshot() if place.layer is None else place.layer.wanted
        record, key = folder / "filled.json", self._key(project, stack, tree, request)
        known, whose = _read(record), f"{project.repo.worktree}:{stack.root}"
        to_run = place.shadowing(str(cache), spare)
        if _enough(project, known.get(whose), key, tree):
            return Prepared(to_run)
        done = run_in_room(
            self.runner.build_call(request), place.placing(str(cache), spare), project.settings.timeout
        )
        if done.finished.timed_out:
            return Prepared(to_run, done)
        record.write_text(json.dumps({**known, whose: [key, tree]}), encoding="utf-8")
        return Prepared(to_run, opened=done.opened)

    def _key(self, project: Project, stack: Stack, tree: str, request: TestRequest) -> list[str]:
        paths = [os.path.normpath(f"{folder}/{name}") for folder in {stack.root, "."} for name in _MODULES]
        texts = project.workspace.read_many(tree, sorted(set(paths))).values()
        said = [(data or b"").decode("utf-8", "replace") for data in texts]
        status = os.stat(self.runner.go)  # noqa: PTH116 - by its text
        return [self.runner.go, str(status.st_mtime_ns), *request.extra, *said, *project.settings.room_env]


def _enough(project: Project, known: Any, key: list[str], tree: str) -> bool:
    if not isinstance(known, list) or known[0] != key:
        return False
    changed = project.workspace.changes(known[1], tree) if known[1] != tree else ()
    return sum(change.path.endswith(".go") for change in changed) <= _MANY


def _read(record: Path) -> dict[str, Any]:
    try:
        known = json.loads(record.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


GO = "install Go, and have `go` on PATH"


def find_go(environ: Mapping[str, str]) -> Toolset:
    """Modules are read where the user's `go` put them; what is missing there is not fetched."""
    found = program("go", environ, GO)
    path = environ.get("GOPATH") or str(Path(environ.get("HOME", "/")) / "go")
    modules = environ.get("GOMODCACHE") or f"{path.split(os.pathsep)[0]}/pkg/mod"
    runner = GoRunner(found, sys.executable)
    there = os.path.isdir(modules)
    return Toolset(
        runner,
        (found, *OURS),
        env={
            "GOPROXY": "off",
            "GOPATH": path,
            CACHE: environ.get(CACHE) or f"{_caches(environ)}/go-build",
            **({"GOMODCACHE": modules} if there else {}),
        },
        reads=(modules,) if there else (),
    )


def _caches(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME', '')}/.cache"
