"""Cargo on this machine: finds it, and keeps its `target` folder for test runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from verdigris.core.records import from_json, to_json
from verdigris.core.settings import Stack
from verdigris.core.value import replace, value
from verdigris.execution.room import Layer
from verdigris.execution.tools.registry import OURS, BuildRequest, Environ, Lent, TestTool, program
from verdigris.execution.tools.runs import Prepared, cache_folder, empty_folder, run_in_room
from verdigris.runners.cargo import CargoRunner
from verdigris.runners.protocol import Toolset
from verdigris.sandbox.notes import replace_file
from verdigris.storage.project import Project

_HINT = "install Rust (rustup), and have `cargo` on PATH"
_COMPILERS = ("cargo", "rustc", "rustdoc")
_RECORD = "built.json"
_MACRO = re.compile(rb"^\s*proc[-_]macro\s*=\s*true", re.MULTILINE)
_PINNED = ("rust-toolchain", "rust-toolchain.toml")


class Cargo(TestTool):
    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:  # noqa: ARG002 - of installed packages
        """Finds cargo.

        Mostly it is rustup's, which chooses a toolchain by the folder in which it is started.
        """
        found = program("cargo", environ, _HINT)
        above = str(Path(found).parents[2])
        home, rustup = (
            _users_folder(environ.get(name), (environ.get("HOME", ""), above), folder)
            for name, folder in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))
        )
        env = {
            "CARGO_NET_OFFLINE": "true",
            "RUSTC_WRAPPER": "",
            "RUSTUP_AUTO_INSTALL": "0",
            "CARGO_TERM_COLOR": "never",
        }
        env |= {name: path for name, path in (("CARGO_HOME", home), ("RUSTUP_HOME", rustup)) if path}
        return Toolset(
            CargoRunner(found, sys.executable),
            (found, *OURS, *([f"{rustup}/."] if rustup else [])),
            env=env,
            reads=tuple(filter(None, [home])),
        )

    def prepare(self, tools: Toolset, build: BuildRequest) -> Prepared:
        """Builds the tests.

        A build of the worktree's own tree is kept; that of another tree is thrown away.
        """
        project, layer = build.place.project, build.place.layer
        runner = CargoRunner(tools.programs[0], sys.executable)
        tree = project.workspace.snapshot() if layer is None else layer.wanted
        folder = _folder(project, _words(runner, build, tree), _builders(project, tree))
        record, target = folder / _RECORD, folder / "target"
        known = read_record(record)
        if known is None:
            empty_folder(folder)
        target.mkdir(exist_ok=True)
        built = date_build(project, tree, known)
        at = os.path.normpath(f"{project.root}/{build.stack.root}/target")
        laid = _date_layer(project, layer, tree, built)
        dressed = build.place.with_env({"CARGO_TARGET_DIR": at}, layer=laid)
        to_run = dressed.with_shadowed(str(target), at)
        done_before = known is not None and known.whole and known.tree == tree
        if done_before or (layer is not None and not layer.shows_worktree):
            return Prepared(to_run)
        write_record(record, built)
        call = runner.build_call(build.request)
        done = run_in_room(call, dressed.with_placed(str(target), at), project.settings.timeout)
        good = done.finished.exit_code == 0
        write_record(record, replace(built, ended=time.time_ns(), whole=good))
        return Prepared(to_run, None if good else done, done.traces.opened)

    def foundation_files(self, tools: Toolset, root: Path) -> Iterator[str]:  # noqa: ARG002 - of packages
        """The files of every toolchain: folders and variables decide which one runs."""
        if home := tools.env.get("CARGO_HOME"):
            yield from (f"{home}/{name}" for name in ("config", "config.toml"))
        if rustup := tools.env.get("RUSTUP_HOME"):
            yield f"{rustup}/settings.toml"
            for toolchain in sorted(Path(rustup, "toolchains").glob("*")):
                yield from (f"{toolchain}/bin/{name}" for name in _COMPILERS)


def _words(runner: CargoRunner, build: BuildRequest, tree: str) -> list[str]:
    """The words by which builds differ; `room.env` may contain flags of the compiler."""
    stack, project = build.stack, build.place.project
    paths = [os.path.normpath(f"{stack.root}/{name}") for name in _PINNED]
    pinned = project.workspace.read_many(tree, paths).values()
    texts = [(data or b"").decode("utf-8", "replace") for data in pinned]
    chosen = os.environ.get("RUSTUP_TOOLCHAIN", "")
    return [stack.root, runner.cargo, chosen, *build.request.extra, *texts, *project.settings.room_env]


def _folder(project: Project, words: list[str], builders: list[str]) -> Path:
    """The folder of a build.

    Code that runs in the compiler and is not accepted yet has one of its own: a copy.
    """
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
    """A layer with other modification times for the files whose time in the worktree would mislead cargo."""
    laid = layer or Layer(tree, tree)
    wrong = misdated_paths(project, built).difference(entry.path for entry in laid.firm)
    entries = tuple(e for e in project.workspace.files(tree) if e.path in wrong) if wrong else ()
    return replace(laid, firm=(*laid.firm, *entries), dates=built.changed)


def _builders(project: Project, tree: str) -> list[str]:
    """Build scripts, procedural macros and cargo's settings that differ from those of the ground.

    They run in the compiler, and could leave files in the build that still decide when they are removed
    again.
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


def _users_folder(said: str | None, homes: tuple[str, ...], folder: str) -> str | None:
    """A folder of the user: the one that a variable names, or one in these homes; None if there is none."""
    paths = (said,) if said else (f"{home}/{folder}" for home in homes)
    return next(filter(os.path.isdir, paths), None)


_COARSE = 20_000_000
"""Nanoseconds by which the clock of a file system may be late."""
_NEVER = 2**62


@value
class Built:
    """What a kept build was made from, and when."""

    tree: str
    changed: Mapping[str, int]
    """Paths that changed since the first build, with the times that cargo sees, in nanoseconds."""
    ended: int = _NEVER
    """When it ended: it has not read a file with a later time."""
    whole: bool = False
    """Whether the whole build worked."""


def date_build(project: Project, tree: str, built: Built | None) -> Built:
    """The record of a build of `tree` on top of the build that is there."""
    if built is None:
        return Built(tree, {})
    now = time.time_ns() - _COARSE
    paths = (c.path for c in project.workspace.changes(built.tree, tree)) if tree != built.tree else ()
    fresh = {path: _time(project, path, built.ended) or now for path in paths}
    return Built(tree, {**built.changed, **fresh})


def misdated_paths(project: Project, built: Built) -> frozenset[str]:
    """Changed paths that have another modification time in the worktree."""
    return frozenset(path for path, at in built.changed.items() if _time(project, path, 0) != at)


def _time(project: Project, path: str, after: int) -> int | None:
    """The modification time of a path in the worktree, if it is later than `after`."""
    try:
        found = os.lstat(project.root / path).st_mtime_ns
    except OSError:
        return None
    return found if after < found < time.time_ns() else None


def read_record(file: Path) -> Built | None:
    try:
        return from_json(Built, json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def write_record(file: Path, built: Built) -> None:
    replace_file(file, json.dumps(to_json(built)).encode())


TOOLS = {"cargo": Cargo()}
