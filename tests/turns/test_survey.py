from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.events import Characterized, LayingAside, OracleFrozen, TurnOpened
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.setup.initialisation import initialise
from verdigris.storage.lock import hold_lock
from verdigris.storage.project import Project, open_project
from verdigris.turns.survey import survey

PERSON = Actor()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    monkeypatch.setenv("HOME", str(made.home))
    made.write("calc.py", "x = 1\n")
    made.write("tests/test_a.py", "def test_a(): pass\n")
    made.commit()
    initialise(made.root, PERSON)
    return made


@pytest.fixture
def project(repo: GitRepo) -> Project:
    return open_project(repo.root, PERSON)


def _laying_aside(project: Project, repo: GitRepo) -> LayingAside:
    start = project.workspace.snapshot()
    repo.write("calc.py", "x = 2\n")
    edited = project.workspace.snapshot()
    return LayingAside(aside="a1", paths=("calc.py",), edited=edited, start=start, why="test")


def test_a_quiet_worktree_has_nothing_to_tell(project: Project) -> None:
    found = survey(project)
    assert (found.worktree, found.branch) == ("main", "main")
    assert (found.unclaimed, found.drift, found.notes) == ((), (), ())


def test_a_survey_writes_no_event(project: Project, repo: GitRepo) -> None:
    repo.write("calc.py", "x = 2\n")
    before = list(project.log.records())
    survey(project)
    assert list(project.log.records()) == before


def test_source_edited_in_red_is_seen(project: Project, repo: GitRepo) -> None:
    repo.write("calc.py", "x = 2\n")
    assert [u.path for u in survey(project).unclaimed] == ["calc.py"]


def test_a_test_edited_in_red_is_nobodys_business(project: Project, repo: GitRepo) -> None:
    repo.write("tests/test_a.py", "def test_b(): pass\n")
    assert survey(project).unclaimed == ()


def test_drift_in_green_is_seen(project: Project, repo: GitRepo) -> None:
    tree = project.workspace.snapshot()
    project.record(TurnOpened(turn="t1", tree=tree), OracleFrozen(turn="t1", tree=tree))
    repo.write("tests/test_a.py", "def test_b(): pass\n")
    repo.write("calc.py", "x = 2\n")
    assert survey(project).drift == ("tests/test_a.py",)
    assert survey(project).unclaimed == ()


def test_an_interrupted_operation_is_finished_first(project: Project, repo: GitRepo) -> None:
    project.record(_laying_aside(project, repo))
    found = survey(project)
    assert repo.read("calc.py") == b"x = 1\n"
    assert found.state.intent is None
    assert any("a1" in note for note in found.notes)


def test_an_operation_that_another_process_is_at_is_left_to_it(project: Project, repo: GitRepo) -> None:
    project.record(_laying_aside(project, repo))
    with hold_lock(project.repo.lock("operation")):
        found = survey(project)
    assert repo.read("calc.py") == b"x = 2\n"
    assert any("another command" in note for note in found.notes)


def test_what_a_move_of_head_brought_is_not_an_edit(project: Project, repo: GitRepo, tmp_path: Path) -> None:
    mate = repo.clone(tmp_path / "mate")
    mate.write("calc.py", "x = 3\n")
    mate.commit()
    repo.git("pull", "-q", "--ff-only", str(mate.root), "main")
    found = survey(project)
    assert found.unclaimed == ()


def test_a_merge_in_progress_is_told(project: Project, repo: GitRepo) -> None:
    (repo.root / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    assert any("merge" in note for note in survey(project).notes)


def test_the_phase_holds_where_gits_own_files_are_gone(project: Project, repo: GitRepo) -> None:
    for path in (repo.root / ".git").iterdir():
        if path.name != "tdd":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    found = survey(open_project(repo.root, Actor()))
    assert found.state.phase is Phase.RED
    assert "HEAD" in " ".join(found.notes)


def test_a_configuration_that_is_gone_is_told_with_the_way_back(project: Project, repo: GitRepo) -> None:
    (repo.root / "tdd.yaml").unlink()
    (note,) = survey(project).notes
    assert note.startswith("there is no tdd.yaml here; what was recorded of it is in force.")
    assert "`tdd init` brings it back" in note


def test_a_git_that_is_gone_is_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not on PATH" in survey(project).notes[0]


def test_characterization_tests_are_counted_while_they_are_new(project: Project, repo: GitRepo) -> None:
    ids = ("tests/test_a.py::test_a", "tests/test_a.py::test_b", "tests/test_gone.py::test_c")
    project.record(Characterized(test_ids=ids))
    repo.write("tests/test_a.py", "def test_a(): pass\ndef test_b(): pass\n")
    assert survey(project).state.characterized == ("tests/test_a.py::test_b",)
    repo.write("tests/test_a.py", "def test_a(): pass\n")
    assert survey(project).state.characterized == ()
