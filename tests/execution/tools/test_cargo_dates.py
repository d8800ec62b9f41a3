"""Times that tell a tool what changed since it built."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from support.gitrepo import make_repo
from support.turns import World
from verdigris.core.records import Actor
from verdigris.execution.tools.cargo import Built, date_build, misdated_paths, read_record, write_record
from verdigris.setup.initialisation import initialise

HOUR = 3600 * 10**9


def made(root: Path) -> World:
    repo = make_repo(root)
    for name in ("a.rs", "b.rs"):
        repo.write(f"src/{name}", name)
    repo.write("tdd.yaml", "stacks:\n  - {root: ., language: rust}\n")
    repo.commit()
    initialise(root, Actor(client="test"))
    return World(repo)


def test_what_did_not_change_has_no_time_of_its_own(tmp_path: Path) -> None:
    world = made(tmp_path / "demo")
    project = world.project
    tree = project.workspace.snapshot()
    first = date_build(project, tree, None)
    assert (first.tree, first.changed, first.whole) == (tree, {}, False)
    assert date_build(project, tree, replace(first, ended=time.time_ns())).changed == {}


def test_a_change_after_the_build_keeps_its_time(tmp_path: Path) -> None:
    world = made(tmp_path / "demo")
    project = world.project
    built = Built(project.workspace.snapshot(), {}, ended=time.time_ns() - HOUR, whole=True)
    world.write("src/a.rs", "another")
    again = date_build(project, project.workspace.snapshot(), built)
    assert again.changed == {"src/a.rs": (world.root / "src/a.rs").stat().st_mtime_ns}
    assert not misdated_paths(project, again)
    assert not again.whole


def test_a_change_with_an_old_time_gets_a_new_one(tmp_path: Path) -> None:
    world = made(tmp_path / "demo")
    project = world.project
    ended = time.time_ns() - HOUR
    built = Built(project.workspace.snapshot(), {"src/b.rs": 5}, ended=ended, whole=True)
    world.write("src/a.rs", "another")
    os.utime(world.root / "src/a.rs", ns=(ended - HOUR, ended - HOUR))
    again = date_build(project, project.workspace.snapshot(), built)
    assert again.changed["src/a.rs"] > ended
    assert again.changed["src/b.rs"] == 5
    assert misdated_paths(project, again) == {"src/a.rs", "src/b.rs"}


def test_a_build_that_did_not_end_trusts_no_time(tmp_path: Path) -> None:
    world = made(tmp_path / "demo")
    project = world.project
    built = date_build(project, project.workspace.snapshot(), None)
    world.write("src/a.rs", "another")
    again = date_build(project, project.workspace.snapshot(), built)
    assert again.changed["src/a.rs"] != (world.root / "src/a.rs").stat().st_mtime_ns


def test_it_is_kept_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "built.json"
    assert read_record(file) is None
    built = Built("tree", {"a\udcff": 1}, ended=2, whole=True)
    write_record(file, built)
    assert read_record(file) == built
    file.write_text("[]")
    assert read_record(file) is None
