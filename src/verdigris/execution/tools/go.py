"""Go on this machine: finds it, and keeps its build cache for test runs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verdigris.core.settings import Stack
from verdigris.execution.tools.registry import OURS, BuildRequest, Environ, Lent, TestTool, program
from verdigris.execution.tools.runs import Prepared, cache_folder, run_in_room
from verdigris.runners.go import GoRunner
from verdigris.runners.protocol import Toolset
from verdigris.sandbox.notes import recall
from verdigris.storage.project import Project

CACHE = "GOCACHE"
_HINT = "install Go, and have `go` on PATH"
_MODULES = ("go.mod", "go.sum", "go.work", "go.work.sum")
_MANY = 20
"""Up to this many changed files every run compiles them itself; more are worth a build of their own."""


class Go(TestTool):
    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:  # noqa: ARG002 - of installed packages
        """Finds Go. Modules are read from the user's module cache; missing ones are not downloaded."""
        found = program("go", environ, _HINT)
        path = environ.get("GOPATH") or str(Path(environ.get("HOME", "/")) / "go")
        modules = environ.get("GOMODCACHE") or f"{path.split(os.pathsep)[0]}/pkg/mod"
        there = os.path.isdir(modules)
        return Toolset(
            GoRunner(found, sys.executable),
            (found, *OURS),
            env={
                "GOPROXY": "off",
                "GOPATH": path,
                CACHE: environ.get(CACHE) or f"{_caches(environ)}/go-build",
                **({"GOMODCACHE": modules} if there else {}),
            },
            reads=(modules,) if there else (),
        )

    def prepare(self, tools: Toolset, build: BuildRequest) -> Prepared:
        """Fills the build cache. Its keys are contents, so nothing in it is outdated, and all worktrees share
        it.

        A build apart links every test binary once more. So it is not made for a few changed files.
        """
        project, spare = build.place.project, build.spare
        place, runner = build.place.with_env({CACHE: spare}), GoRunner(tools.programs[0], sys.executable)
        folder = cache_folder(project.repo.control, "go")
        cache = folder / "cache"
        cache.mkdir(exist_ok=True)
        tree = project.workspace.snapshot() if place.layer is None else place.layer.wanted
        record, key = folder / "filled.json", _key(runner, build, tree)
        known, whose = recall(record), f"{project.repo.worktree}:{build.stack.root}"
        to_run = place.with_shadowed(str(cache), spare)
        if _is_enough(project, known.get(whose), key, tree):
            return Prepared(to_run)
        call = runner.build_call(build.request)
        done = run_in_room(call, place.with_placed(str(cache), spare), project.settings.timeout)
        if done.finished.timed_out:
            return Prepared(to_run, done)
        record.write_text(json.dumps({**known, whose: [key, tree]}), encoding="utf-8")
        return Prepared(to_run, opened=done.traces.opened)

    def foundation_files(self, tools: Toolset, root: Path) -> Iterator[str]:  # noqa: ARG002 - of packages
        installed = Path(tools.programs[0]).resolve().parents[1]
        yield f"{installed}/VERSION"
        yield from map(str, installed.glob("pkg/tool/*/*"))
        yield from map(str, installed.glob("src/testing/**/*.go"))


def _key(runner: GoRunner, build: BuildRequest, tree: str) -> list[str]:
    project = build.place.project
    paths = [os.path.normpath(f"{folder}/{name}") for folder in {build.stack.root, "."} for name in _MODULES]
    texts = project.workspace.read_many(tree, sorted(set(paths))).values()
    said = [(data or b"").decode("utf-8", "replace") for data in texts]
    status = os.stat(runner.go)
    return [runner.go, str(status.st_mtime_ns), *build.request.extra, *said, *project.settings.room_env]


def _is_enough(project: Project, known: Any, key: list[str], tree: str) -> bool:
    if not isinstance(known, list) or known[0] != key:
        return False
    changed = project.workspace.changes(known[1], tree) if known[1] != tree else ()
    return sum(change.path.endswith(".go") for change in changed) <= _MANY


def _caches(environ: Environ) -> str:
    return environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME', '')}/.cache"


TOOLS = {"go": Go()}
