"""Projects of other languages under the law, driven in this process: real git, real tools."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from support.gitrepo import copied, make_repo
from support.node_tools import shared
from support.pages import project_files
from support.turns import QUICK, World
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.execution.tools.go import CACHE
from verdigris.execution.tools.runs import cache_folder
from verdigris.setup.initialisation import initialise
from verdigris.turns.claim_check import Claimed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.storage.project import Project

RUST_CONFIG = "stacks:\n  - {root: ., language: rust, runner: cargo}\n"
RUST = project_files("calculator_rust")
RUST_STUB = "\n// STUB:TDD\npub fn sub(_a: i32, _b: i32) -> i32 {\n    0\n}\n"
RUST_SUB = "\npub fn sub(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
RUST_TEST = "#[test]\nfn subs() {\n    assert_eq!(demo::sub(3, 2), 1);\n}\n"

GO_CONFIG = "stacks:\n  - {root: ., language: go, runner: go}\n"
GO = project_files("calculator_go")
GO_STUB = "\n// STUB:TDD\nfunc Sub(a, b int) int { return 0 }\n"
GO_SUB = "\nfunc Sub(a, b int) int { return a - b }\n"
GO_TEST = (
    GO["calc/add_test.go"].replace("Add(1, 2)", "Sub(3, 2)").replace("Add", "Sub").replace("!= 3", "!= 1")
)

NODE_CONFIG = "stacks:\n  - {root: ., language: node, runner: vitest}\n"
NODE = project_files("calculator_node")
NODE_STUB = "// STUB:TDD\nexport const sub = () => 0;\n"
NODE_SUB = "export const sub = (a, b) => a - b;\n"
NODE_TEST = NODE["test/add.test.js"].replace("add(1, 2)).toBe(3)", "sub(3, 2)).toBe(1)").replace("add", "sub")


def make_tool_world(root: Path, config: str, files: Mapping[str, str], packages: Path | None = None) -> World:
    """`packages`: the folder whose `node_modules` is used."""

    def make(place: Path) -> None:
        repo = make_repo(place)
        repo.write("tdd.yaml", QUICK + config)
        for path, text in files.items():
            repo.write(path, text)
        if packages is not None:
            (place / "node_modules").symlink_to(packages / "node_modules")
        repo.commit("a calculator")
        initialise(place, Actor(client="test"))

    return World(copied(root, make, "tools", config, packages, *files.items()))


def make_go_world(root: Path, config: str, files: Mapping[str, str]) -> World:
    world = make_tool_world(root, config, files)
    lend_go(world.project)
    return world


def lend_go(project: Project) -> None:
    """Add variables to the runs of a project."""
    lend_go_cache(cache_folder(project.repo.control, "go") / "cache")


def lend_go_cache(folder: Path) -> None:
    """Go's standard packages take longer to compile than a test: they are compiled once, and copied."""
    with shared(f"go-{_go_version()}") as kept:
        known = kept / "cache"
        if not known.is_dir():
            _compile_go(kept / "unfinished")
            (kept / "unfinished").rename(known)
    shutil.copytree(known, folder)


def _compile_go(folder: Path) -> None:
    """Continue an interrupted compilation. Without garbage collection it takes a seventh less time."""
    with tempfile.TemporaryDirectory() as place:
        for path, text in GO.items():
            Path(place, path).parent.mkdir(exist_ok=True)
            Path(place, path).write_text(text, "utf-8")
        env = {**os.environ, CACHE: str(folder), "GOGC": "off", "GOMEMLIMIT": "1GiB"}
        subprocess.run(["go", "test", "./..."], cwd=place, env=env, capture_output=True, check=True)


@cache
def _go_version() -> str:
    """Go's own version text: packages that another version compiled are useless."""
    return subprocess.run(
        ["go", "env", "GOVERSION"], capture_output=True, text=True, check=True
    ).stdout.strip()


@dataclass(frozen=True)
class Round:
    """One behaviour in one language: the right code and test, and wrong ones."""

    test: str
    """The id of the new test."""
    text: str
    changed: str
    """The same test with another expectation."""
    source: str
    before: str
    stub: str
    good: str

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]


def play(world: World, one: Round) -> None:
    """A round: red by a stub, a regression, a test changed while green, and the acceptance."""
    world.write(one.file, one.text)
    world.write(one.source, one.before + one.stub)
    # All tests, because a verdict that knows their results need not run the tree before.
    [red] = [test for test in world.test().tests if test.test_id == one.test]
    assert (red.red, red.place.partition(":")[0]) == ("valid", one.file)
    assert isinstance(world.claim(one.test, one.source), Claimed)
    world.write(one.source, one.before.replace("a + b", "a * b") + one.good)
    assert world.settle().verdict.kind is Kind.REGRESSED
    world.write(one.source, one.before + one.good)
    world.write(one.file, one.changed)
    assert world.settle().verdict.kind is Kind.TAMPERED
    world.write(one.file, one.text)
    done = world.settle()
    assert done.verdict.kind is Kind.ACCEPTED, done.verdict
    assert done.report is not None
    assert (done.report.sandbox, done.report.wrote) == ("overlay", ())
