"""Finds Go and cargo, and keeps what they built for test runs: Go's build cache, cargo's `target` folder."""

# Paths are text: they go into variables and arguments.
# ruff: noqa: PTH112

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdigris.core.value import replace, value
from verdigris.execution.room import Layer
from verdigris.execution.tools import runs
from verdigris.execution.tools.lookup import OURS, program
from verdigris.execution.tools.runs import Prepared, cache_folder, empty_folder, run_in_room
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.gotest import GoRunner
from verdigris.runners.protocol import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.runs import Built, RunPlace
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
        known, whose = _read_record(record), f"{project.repo.worktree}:{stack.root}"
        to_run = place.with_shadowed(str(cache), spare)
        if _enough(project, known.get(whose), key, tree):
            return Prepared(to_run)
        done = run_in_room(
            self.runner.build_call(request), place.with_placed(str(cache), spare), project.settings.timeout
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


def _read_record(record: Path) -> dict[str, Any]:
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


_RECORD = "built.json"
_MACRO = re.compile(rb"^\s*proc[-_]macro\s*=\s*true", re.MULTILINE)
_PINNED = ("rust-toolchain", "rust-toolchain.toml")


@value
class CargoTarget:
    runner: CargoRunner

    def prepare(self, place: RunPlace, stack: Stack, request: TestRequest, spare: str) -> Prepared:  # noqa: ARG002 - Go's
        """What is built of the worktree's own tree stays; of another one it is thrown away."""
        project, layer = place.project, place.layer
        tree = project.workspace.snapshot() if layer is None else layer.wanted
        folder = _folder(project, self._words(project, stack, tree, request), _builders(project, tree))
        record, target = folder / _RECORD, folder / "target"
        known = runs.read(record)
        if known is None:
            empty_folder(folder)
        target.mkdir(exist_ok=True)
        built = runs.date_build(project, tree, known)
        at = os.path.normpath(f"{project.root}/{stack.root}/target")
        dressed = place.with_env({"CARGO_TARGET_DIR": at}, layer=_date_layer(project, layer, tree, built))
        to_run = dressed.with_shadowed(str(target), at)
        done_before = known is not None and known.whole and known.tree == tree
        if done_before or (layer is not None and not layer.only_holds):
            return Prepared(to_run)
        runs.write(record, built)
        done = run_in_room(
            self.runner.build_call(request), dressed.with_placed(str(target), at), project.settings.timeout
        )
        good = done.finished.exit_code == 0
        runs.write(record, replace(built, ended=time.time_ns(), whole=good))
        return Prepared(to_run, None if good else done, done.opened)

    def _words(self, project: Project, stack: Stack, tree: str, request: TestRequest) -> list[str]:
        """What makes another build; `room.env` may hold flags."""
        paths = [os.path.normpath(f"{stack.root}/{name}") for name in _PINNED]
        pinned = project.workspace.read_many(tree, paths).values()
        texts = [(data or b"").decode("utf-8", "replace") for data in pinned]
        chosen = os.environ.get("RUSTUP_TOOLCHAIN", "")
        return [stack.root, self.runner.cargo, chosen, *request.extra, *texts, *project.settings.room_env]


def _folder(project: Project, words: list[str], builders: list[str]) -> Path:
    """Code that runs in the compiler and is not accepted has a build of its own, begun as a copy."""
    usual = cache_folder(project.repo.private, "cargo", words)
    if not builders:
        return usual
    own = cache_folder(project.repo.private, "cargo", [*words, *builders])
    if not (own / _RECORD).exists() and (usual / _RECORD).exists():
        empty_folder(own)
        shutil.copytree(usual / "target", own / "target", symlinks=True)
        shutil.copyfile(usual / _RECORD, own / _RECORD)
    return own


def _date_layer(project: Project, layer: Layer | None, tree: str, built: Built) -> Layer:
    """Files whose time in the worktree is not to be trusted are laid over it with another."""
    laid = layer or Layer(tree, tree)
    wrong = runs.misdated_paths(project, built).difference(entry.path for entry in laid.firm)
    entries = tuple(e for e in project.workspace.files(tree) if e.path in wrong) if wrong else ()
    return replace(laid, firm=(*laid.firm, *entries), dates=built.changed)


def _builders(project: Project, tree: str) -> list[str]:
    """Build scripts, procedural macros and cargo's settings, where they are others than the ground's.

    They run in the compiler, and could leave behind what decides when they are gone again.
    """
    ground = project.state().ground
    if ground is None or ground == tree:
        return []
    now = _build_files(project, tree)
    return [] if now == _build_files(project, ground) else now


def _build_files(project: Project, tree: str) -> list[str]:
    entries = project.workspace.files(tree)
    manifests = [entry.path for entry in entries if f"/{entry.path}".endswith("/Cargo.toml")]
    texts = project.workspace.read_many(tree, manifests)
    macros = tuple(
        path.removesuffix("Cargo.toml") for path, data in texts.items() if _MACRO.search(data or b"")
    )
    return [
        f"{entry.path} {entry.blob}"
        for entry in entries
        if f"/{entry.path}".endswith("/build.rs")
        or "/.cargo/" in f"/{entry.path}"
        or entry.path.startswith(macros)
    ]


RUST = "install Rust (rustup), and have `cargo` on PATH"


def find_cargo(environ: Mapping[str, str]) -> Toolset:
    """The program is mostly rustup's, which chooses a toolchain by the folder it is started in."""
    found = program("cargo", environ, RUST)
    above = str(Path(found).parents[2])
    home, rustup = (
        _users_folder(environ.get(name), (environ.get("HOME", ""), above), folder)
        for name, folder in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))
    )
    runner = CargoRunner(found, sys.executable)
    env = {
        "CARGO_NET_OFFLINE": "true",
        "RUSTC_WRAPPER": "",
        "RUSTUP_AUTO_INSTALL": "0",
        "CARGO_TERM_COLOR": "never",
    }
    env |= {name: path for name, path in (("CARGO_HOME", home), ("RUSTUP_HOME", rustup)) if path}
    return Toolset(
        runner,
        (found, *OURS, *([f"{rustup}/."] if rustup else [])),
        env=env,
        reads=tuple(filter(None, [home])),
    )


def _users_folder(said: str | None, homes: tuple[str, ...], folder: str) -> str | None:
    """A folder of the user's: as a variable says, or in one of these homes; None where there is none."""
    paths = (said,) if said else (f"{home}/{folder}" for home in homes)
    return next(filter(os.path.isdir, paths), None)
