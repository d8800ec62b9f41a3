from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.errors import ConfigError, NotARepository, UserError
from verdigris.core.events import SwitchedOff, TurnOpened
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.setup.initialisation import carry_out, initialise, plan, uninitialise
from verdigris.storage.config import load
from verdigris.storage.project import Project, open_project

PERSON = Actor()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    monkeypatch.setenv("HOME", str(made.home))
    return made


def _types(repo: GitRepo) -> list[str]:
    return [record.type for record in _project(repo).log.records()]


def _project(repo: GitRepo) -> Project:
    return open_project(repo.root, PERSON)


def test_a_plan_writes_nothing(repo: GitRepo) -> None:
    repo.write("calc.py")
    planned = plan(repo.root)
    assert planned.content is not None
    assert [p.name for p in repo.root.iterdir()] == [".git", "calc.py"] or not (
        repo.root / "tdd.yaml"
    ).exists()
    assert not (repo.root / ".git" / "tdd").exists()


def test_init_on_an_unborn_head_writes_the_file_and_takes_the_tree_as_ground(repo: GitRepo) -> None:
    repo.write("calc.py", "x = 1\n")
    done = initialise(repo.root, PERSON)
    assert (done.phase, done.already, done.tests) == ("red", False, False)
    assert load(repo.root).settings.stacks[0].language == "python"
    project = _project(repo)
    assert project.state().ground == project.workspace.snapshot()
    assert _types(repo) == ["configured", "ground"]


def test_what_is_assumed_of_an_empty_repository_is_not_said_to_be_found(repo: GitRepo) -> None:
    assert plan(repo.root).assumed
    repo.write("calc.py", "A = 1\n")
    assert not plan(repo.root).assumed


def test_init_twice_changes_nothing(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    before = repo.read("tdd.yaml")
    assert initialise(repo.root, PERSON).already
    assert repo.read("tdd.yaml") == before
    assert _types(repo) == ["configured", "ground"]


def test_init_leaves_no_file_beside_what_it_said(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    assert repo.git("status", "--short") == "?? tdd.yaml"


def test_a_valid_tdd_yaml_is_kept_and_adopted(repo: GitRepo) -> None:
    repo.write("tdd.yaml", "strikes: 3\n")
    assert plan(repo.root).content is None
    initialise(repo.root, PERSON)
    assert repo.read("tdd.yaml") == b"strikes: 3\n"
    assert _project(repo).settings.strikes == 3


def test_a_broken_tdd_yaml_is_an_error_and_nothing_is_recorded(repo: GitRepo) -> None:
    repo.write("tdd.yaml", "strike: 3\n")
    with pytest.raises(ConfigError, match="strike"):
        initialise(repo.root, PERSON)
    assert not (repo.root / ".git" / "tdd").exists()


def test_tests_are_seen(repo: GitRepo) -> None:
    repo.write("tests/test_a.py", "def test_a(): pass\n")
    assert initialise(repo.root, PERSON).tests


def test_an_empty_tests_folder_holds_no_tests(repo: GitRepo) -> None:
    repo.write("tests/__init__.py")
    repo.write("tests/conftest.py")
    assert not initialise(repo.root, PERSON).tests


def test_what_cannot_be_told_is_asked_unless_the_user_says_the_language(repo: GitRepo) -> None:
    repo.write("package.json", "{}")
    with pytest.raises(UserError, match=r"package\.json names no test tool"):
        plan(repo.root)
    assert plan(repo.root, lang="python").content is not None


def test_without_a_repository_there_is_nothing_to_set_up(tmp_path: Path) -> None:
    with pytest.raises(NotARepository) as caught:
        plan(tmp_path)
    assert "git init" in str(caught.value.hint)


def test_a_file_without_its_events_is_adopted_by_the_next_init(repo: GitRepo) -> None:
    planned = plan(repo.root)
    repo.write("tdd.yaml", planned.content or "")
    assert not initialise(repo.root, PERSON).already
    assert _types(repo) == ["configured", "ground"]


def test_uninit_removes_the_file_that_init_wrote_and_keeps_the_log(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    removed = uninitialise(repo.root, PERSON, force=False)
    assert (removed.file, removed.was_configured) == ("removed", True)
    assert not (repo.root / "tdd.yaml").exists()
    assert (repo.root / ".git" / "tdd" / "events.jsonl").exists()
    with pytest.raises(UserError, match="not set up"):
        _project(repo)


def test_uninit_keeps_a_file_that_was_edited_unless_forced(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    repo.write("tdd.yaml", repo.read("tdd.yaml") + b"strikes: 4\n")
    _project(repo)  # records the edited file
    assert uninitialise(repo.root, PERSON, force=False).file == "kept"
    assert (repo.root / "tdd.yaml").exists()
    assert uninitialise(repo.root, PERSON, force=True).file == "removed"


def test_uninit_keeps_a_file_that_init_only_adopted(repo: GitRepo) -> None:
    repo.write("tdd.yaml", "strikes: 3\n")
    initialise(repo.root, PERSON)
    assert uninitialise(repo.root, PERSON, force=False).file == "kept"


def test_uninit_twice_says_that_nothing_was_there(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    uninitialise(repo.root, PERSON, force=False)
    removed = uninitialise(repo.root, PERSON, force=False)
    assert (removed.file, removed.was_configured) == ("missing", False)


def test_init_after_uninit_in_an_open_turn_is_red_again(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    project = _project(repo)
    project.record(TurnOpened(turn="t1", tree=project.workspace.snapshot()))
    uninitialise(repo.root, PERSON, force=False)
    assert initialise(repo.root, PERSON).phase == "red"
    assert _project(repo).state().turn is None


def test_init_does_not_switch_on_what_is_off(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    _project(repo).record(SwitchedOff(why="spike"))
    assert initialise(repo.root, PERSON).phase == "off"


def test_a_frozen_tdd_yaml_is_put_back_as_it_was(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    frozen = (repo.root / "tdd.yaml").read_bytes() + b"# ours\n"
    (repo.root / "tdd.yaml").write_bytes(frozen)
    project = _project(repo)
    project.record(TurnOpened(turn="t1", tree=project.workspace.snapshot()))
    (repo.root / "tdd.yaml").unlink()
    initialise(repo.root, PERSON)
    assert (repo.root / "tdd.yaml").read_bytes() == frozen


def test_a_frozen_tdd_yaml_that_no_snapshot_has_is_not_written_anew(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    (repo.root / "tdd.yaml").unlink()
    project = _project(repo)
    project.record(TurnOpened(turn="t1", tree=project.workspace.snapshot()))
    with pytest.raises(UserError, match="no snapshot has it"):
        initialise(repo.root, PERSON)
    assert not (repo.root / "tdd.yaml").exists()


def test_a_second_worktree_gets_its_own_ground(repo: GitRepo, tmp_path: Path) -> None:
    repo.write("calc.py", "x = 1\n")
    initialise(repo.root, PERSON)
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "other"))
    carry_out(plan(tmp_path / "other"), PERSON)
    other = open_project(tmp_path / "other", PERSON)
    assert other.state().ground is not None
    assert other.state().phase is Phase.RED
