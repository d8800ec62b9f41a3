from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import GitRepo, make_repo
from support.turns import CALC, SUB, World
from verdigris.core.errors import ConfigError, LogDamaged, NotConfigured
from verdigris.core.events import Configured
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.storage.project import Project, open_project
from verdigris.turns.person import switch_off
from verdigris.turns.test_bug import report_bug


def opened(root: Path) -> Project:
    return open_project(root, Actor(client="test"))


def configured(world: World) -> int:
    return len(world.events(Configured))


def beside(world: World, root: Path) -> World:
    """A linked worktree."""
    world.repo.git("worktree", "add", "--quiet", "-b", root.name, str(root))
    return World(GitRepo(root, world.repo.home))


def test_a_changed_tdd_yaml_is_taken_in_red(world: World) -> None:
    assert (configured(world), world.project.settings.strikes) == (1, 2)
    world.write("tdd.yaml", world.read("tdd.yaml") + "strikes: 5\n")
    assert world.project.settings.strikes == 5
    assert configured(world) == 2


def test_a_runners_changed_configuration_is_read_once_at_a_persons_command(world: World) -> None:
    world.write("pytest.ini", "[pytest]\npython_files = checks.py test_*.py\n")
    theirs = open_project(world.root, Actor("agent", "s1", "claude"))
    assert (theirs.classify("app/checks.py"), configured(world)) == ("source", 2)
    assert world.project.classify("app/checks.py") == "test"
    assert (open_project(world.root, theirs.actor).classify("app/checks.py"), configured(world)) == (
        "test",
        2,
    )
    (world.root / "pytest.ini").unlink()
    assert (world.project.classify("app/checks.py"), configured(world)) == ("source", 3)


def test_a_log_of_an_older_version_gets_its_classes_anew_once(world: World) -> None:
    (known,) = world.events(Configured)
    assert isinstance(known, Configured)
    older = Configured(tdd_yaml=known.tdd_yaml, settings=known.settings, classes=known.classes)
    world.project.record(older)
    assert (opened(world.root).settings, configured(world)) == (world.project.settings, 3)
    assert configured(world) == 3


def test_a_changed_tdd_yaml_waits_until_the_turn_has_ended(world: World) -> None:
    world.green_by_record()
    changed = world.read("tdd.yaml") + "strikes: 5\n"
    world.write("tdd.yaml", changed)
    assert (world.project.settings.strikes, configured(world)) == (2, 1)
    report_bug(world.project, ["tests/test_sub.py:5"], "stop", cwd=world.root)
    assert (world.project.settings.strikes, configured(world)) == (5, 2)


@pytest.mark.parametrize("instead", ["nothing", "folder"])
def test_a_tdd_yaml_that_is_gone_switches_nothing_off(world: World, instead: str) -> None:
    world.write("tdd.yaml", world.read("tdd.yaml") + "strikes: 5\n")
    assert world.project.settings.strikes == 5
    (world.root / "tdd.yaml").unlink()
    if instead == "folder":
        (world.root / "tdd.yaml").mkdir()
    assert world.project.settings.strikes == 5
    assert world.state.phase is Phase.RED


def test_a_tdd_yaml_that_cannot_be_used_is_said_and_not_taken(world: World) -> None:
    world.write("tdd.yaml", "strikes: many\n")
    with pytest.raises(ConfigError):
        opened(world.root)
    world.repo.git("checkout", "--", "tdd.yaml")
    assert configured(world) == 1


def test_a_fresh_clone_is_configured_by_the_first_command(world: World, tmp_path: Path) -> None:
    clone = World(world.repo.clone(tmp_path / "clone"))
    assert clone.state.phase is Phase.RED
    assert (configured(clone), configured(world)) == (1, 1)
    assert clone.project.settings == world.project.settings


def test_without_tdd_yaml_and_log_there_is_nothing_to_open(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "bare")
    with pytest.raises(NotConfigured):
        opened(repo.root)


def test_a_corrupt_log_is_said(world: World) -> None:
    log = world.root / ".git/tdd/events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"ground"', b'"gr0und"'))
    with pytest.raises(LogDamaged):
        opened(world.root)


def test_two_worktrees_do_not_mix(world: World, tmp_path: Path) -> None:
    world.green_by_record()
    other = beside(world, tmp_path / "other")
    assert (world.state.phase, other.state.phase) == (Phase.GREEN, Phase.RED)
    other.green_by_record()
    other.write("calc.py", CALC + SUB)
    assert world.read("calc.py") == CALC
    switch_off(other.project, "only here")
    assert (world.state.phase, other.state.phase) == (Phase.GREEN, Phase.OFF)


def test_another_worktrees_tdd_yaml_does_not_reach_into_an_open_turn(world: World, tmp_path: Path) -> None:
    other = beside(world, tmp_path / "other")
    world.green_by_record()
    other.write("tdd.yaml", other.read("tdd.yaml") + "strikes: 9\n")
    assert (other.project.settings.strikes, world.project.settings.strikes) == (9, 2)
    assert configured(world) == 2
    assert (other.project.settings.strikes, configured(world)) == (9, 2)


def test_a_worktree_of_a_branch_without_tdd_yaml_goes_by_the_others(world: World, tmp_path: Path) -> None:
    world.repo.git("rm", "--quiet", "tdd.yaml")
    world.repo.git("commit", "--quiet", "--message", "without")
    other = beside(world, tmp_path / "other")
    assert not (other.root / "tdd.yaml").exists()
    assert other.project.settings == world.project.settings


def test_moving_the_folder_keeps_the_phase(world: World, tmp_path: Path) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    moved = World(GitRepo(world.root.rename(tmp_path / "elsewhere"), world.repo.home))
    assert moved.state.phase is Phase.GREEN
    assert moved.whole()
    moved.write("calc.py", CALC)
    assert moved.project.workspace.snapshot() == getattr(moved.state.turn, "tree", None)


def test_a_record_of_nothing_writes_nothing(world: World) -> None:
    before = len(world.events())
    assert world.project.record() == ()
    assert len(world.events()) == before
