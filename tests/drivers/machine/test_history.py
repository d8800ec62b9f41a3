from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.paths import PathClass
from verdigris.core.state import PassedStep
from verdigris.drivers.machine.history import (
    CODER,
    NOTHING_TO_DO,
    REFACTORER,
    SENT_BACK,
    TESTER,
    UPHELD,
    MachineCommit,
    Position,
    ProjectRecord,
    commits,
    machine_commits,
    position,
    record,
)
from verdigris.models.roles import Role
from verdigris.storage.repository import find_repository

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


TEST, IMPL, RE = TESTER, CODER, REFACTORER


def passed(step: int, role: Role, outcome: str, after: str, why: str = "why") -> PassedStep:
    return PassedStep(step, role.name, outcome, why, after)


A1, B2, C3 = MachineCommit("a", 1, TEST), MachineCommit("b", 2, IMPL), MachineCommit("c", 3, TEST)
BACK = passed(2, IMPL, SENT_BACK, "a", "0 is no sum")
NEXT_ROUND = (MachineCommit("e", 6, TEST), MachineCommit("d", 4, IMPL), C3, A1)


@pytest.mark.parametrize(
    ("made", "without_commit", "expected"),
    [
        ((), (), Position(1, TEST)),
        ((A1,), (), Position(2, IMPL, "a")),
        ((B2, A1), (), Position(3, RE, "b")),
        ((MachineCommit("c", 3, RE), B2), (), Position(4, TEST, "c")),
        # A step without a commit counts after the commit that it followed, unless that is gone.
        ((B2, A1), (passed(3, RE, NOTHING_TO_DO, "b"),), Position(4, TEST, "b")),
        ((MachineCommit("b2", 2, IMPL), A1), (passed(3, RE, NOTHING_TO_DO, "b"),), Position(3, RE, "b2")),
        # A test is sent back with the finding, once in a round.
        ((A1,), (BACK,), Position(3, TEST, "a", "0 is no sum", (), returned=True)),
        ((C3, A1), (BACK,), Position(4, IMPL, "c", returned=True)),
        (NEXT_ROUND, (BACK,), Position(7, IMPL, "e")),
    ],
)
def test_the_next_role_follows_from_commits_and_from_steps_without_one(
    made: tuple[MachineCommit, ...], without_commit: tuple[PassedStep, ...], expected: Position
) -> None:
    assert position(made, without_commit) == expected


def test_a_test_that_the_tester_keeps_is_the_implementors_again_with_what_was_said() -> None:
    made = [MachineCommit("c1", 1, TESTER, ("t.py::a",), points=(2,), concerns=("odd",))]
    passed = [
        PassedStep(2, "implementor", SENT_BACK, "it failed 3 times", "c1"),
        PassedStep(3, "tester", UPHELD, "it is right", "c1"),
    ]
    now = position(made, passed)
    assert (now.step, now.role, now.finding, now.returned) == (4, CODER, "it is right", True)
    assert (now.tests, now.points, now.concerns) == (("t.py::a",), (2,), ("odd",))
