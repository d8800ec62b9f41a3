from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from verdigris.core.paths import PathClass
from verdigris.drivers.machine.history import MachineCommit, ProjectRecord, commits, machine_commits, record
from verdigris.drivers.machine.roles import TESTER
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from support.gitrepo import GitRepo

MESSAGE = "test: one\n\nTDD-Step: 7\nTDD-Role: tester\nTDD-Test: t.py::a b\nTDD-Test: t.py::c\n"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "a = 1\n")
    repo.write("image.png", b"\x89PNG\0")
    repo.commit("by a person")
    return repo


def source(_: str) -> PathClass:
    return PathClass.SOURCE


def test_the_machines_commits_are_known_by_their_trailers(repo: GitRepo) -> None:
    first = repo.commit(MESSAGE)
    repo.commit("docs: mentions\n\nTDD-Step: 9 was fine.\n\nnot a trailer")
    assert machine_commits(repo.root) == (
        MachineCommit(first, 7, TESTER, ("t.py::a b", "t.py::c"), "test: one"),
    )


def test_a_merge_brings_the_machines_commits_of_the_other_side(repo: GitRepo) -> None:
    repo.git("switch", "--quiet", "--create", "other")
    first = repo.commit(MESSAGE)
    second = repo.commit(MESSAGE.replace("7", "8").replace("tester", "implementor"))
    repo.git("switch", "--quiet", "main")
    repo.commit("docs: meanwhile")
    repo.git("merge", "--quiet", "--no-edit", "other")
    assert [(each.commit, each.step) for each in machine_commits(repo.root)] == [(second, 8), (first, 7)]
    assert [told.made for told in commits(repo.root)] == [None] * 3


def test_the_files_are_heads_and_the_history_begins_with_the_machines_first_commit(repo: GitRepo) -> None:
    place = find_repository(repo.root)
    told = record(place, commits(repo.root), source)
    assert told == ProjectRecord({"a.py": "a = 1\n", "image.png": None}, {}, ())
    repo.write("b.py", "b = 1\n")
    repo.commit(MESSAGE)
    repo.write("b.py", "b = 2\n")
    repo.git("rm", "--quiet", "a.py")
    repo.commit("by a person again")
    later = record(place, commits(repo.root), source)
    assert later.files == {"b.py": "b = 2\n", "image.png": None}
    assert (later.ages, later.history) == ({"b.py": 2}, ("test: one", "by a person again"))


def test_points_and_concerns_are_read_from_the_trailers(repo: GitRepo) -> None:
    repo.commit(f"{MESSAGE}TDD-Point: 2\nTDD-Point: 3\nTDD-Concern: a.py:1: a table\n")
    found = machine_commits(repo.root)[0]
    assert (found.points, found.concerns, found.squashed) == ((2, 3), ("a.py:1: a table",), False)
