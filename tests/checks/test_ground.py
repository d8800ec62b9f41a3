"""Git is the ground: what HEAD has, and on top of it what was accepted and nobody has committed yet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support import canned
from support.turns import CALC, MUL, SUB, World
from verdigris.checks.observation import find_unclaimed
from verdigris.checks.weakening import find_losses
from verdigris.core.records import Actor
from verdigris.core.state import LaidAside
from verdigris.core.value import replace
from verdigris.turns.aside import lay_unclaimed_aside
from verdigris.turns.operation import operation
from verdigris.turns.survey import survey
from verdigris.turns.tripwire.calls import before_call

DOCUMENTED = CALC.replace("    return", '    """Adds."""\n    return')


def loose(world: World) -> list[str]:
    """Source that no claim covers: as `tdd status` says it, and as the next command does."""
    said = [edit.path for edit in survey(world.project).unclaimed]
    with operation(world.project) as state:
        tree = world.project.workspace.snapshot()
        seen = [edit.path for edit in find_unclaimed(world.project, state.ground or tree, tree)]
    assert said == seen
    return seen


def is_clean(world: World) -> bool:
    return not world.repo.git("status", "--porcelain").strip()


@pytest.fixture
def accepted(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """An accepted turn on a branch of its own, not committed."""
    world.repo.git("switch", "--quiet", "--create", "feature")
    canned.can(monkeypatch)
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.accepted
    return world


def test_a_branch_that_lacks_accepted_work_is_clean(accepted: World) -> None:
    """FH F1: commit on the branch and checkout of main, with no command in between."""
    accepted.repo.commit("feature")
    accepted.repo.git("switch", "--quiet", "main")
    assert is_clean(accepted)
    assert loose(accepted) == []
    assert lay_unclaimed_aside(accepted.project) is None
    assert is_clean(accepted)


def test_a_committed_docstring_is_not_undone(world: World) -> None:
    """FH F2."""
    world.write("calc.py", DOCUMENTED)
    world.repo.commit("docs")
    world.write("calc.py", DOCUMENTED.replace("a + b", "b + a"))
    assert isinstance(lay_unclaimed_aside(world.project), LaidAside)
    assert world.read("calc.py") == DOCUMENTED
    assert is_clean(world)


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize(
    "go_back",
    [
        pytest.param(lambda w: w.repo.git("checkout", "--quiet", "--", "."), id="checkout"),
        pytest.param(lambda w: w.repo.git("stash", "--quiet", "--include-untracked"), id="stash"),
        pytest.param(lambda w: w.repo.git("reset", "--quiet", "--hard"), id="reset"),
    ],
)
def test_a_clean_tree_has_nothing_unclaimed(
    accepted: World, go_back: Callable[[World], object], *, looks: bool
) -> None:
    if looks:
        assert loose(accepted) == []
    go_back(accepted)
    accepted.repo.git("clean", "--quiet", "--force", "-d", "tests")
    assert is_clean(accepted)
    assert loose(accepted) == []


@pytest.mark.parametrize("looks", [False, True])
def test_accepted_work_comes_out_of_a_stash_as_accepted(accepted: World, *, looks: bool) -> None:
    accepted.repo.git("stash", "--quiet", "--include-untracked")
    if looks:
        assert loose(accepted) == []
    accepted.repo.git("stash", "pop", "--quiet")
    assert loose(accepted) == []


def test_also_when_another_turn_was_accepted_elsewhere_meanwhile(accepted: World) -> None:
    accepted.repo.git("stash", "--quiet", "--include-untracked")
    accepted.repo.git("switch", "--quiet", "--create", "other")
    accepted.repo.git("commit", "--quiet", "--allow-empty", "-m", "other")
    accepted.green_by_record()
    accepted.write("calc.py", CALC + SUB + MUL)
    assert accepted.settle().verdict.accepted
    accepted.repo.commit("more")
    accepted.repo.git("switch", "--quiet", "feature")
    accepted.repo.git("stash", "pop", "--quiet")
    assert loose(accepted) == []


def test_an_edit_on_a_branch_that_lacks_accepted_work_does_not_bring_it(accepted: World) -> None:
    accepted.repo.commit("feature")
    accepted.repo.git("switch", "--quiet", "main")
    accepted.write("calc.py", CALC.replace("a + b", "b + a"))
    assert isinstance(lay_unclaimed_aside(accepted.project), LaidAside)
    assert is_clean(accepted)


def test_an_edit_on_top_of_accepted_work_is_set_aside_alone(accepted: World) -> None:
    accepted.write("calc.py", CALC + SUB + MUL)
    assert loose(accepted) == ["calc.py"]
    assert isinstance(lay_unclaimed_aside(accepted.project), LaidAside)
    assert accepted.read("calc.py") == CALC + SUB


def test_a_pull_below_accepted_work_is_ground_too(accepted: World) -> None:
    """Stash, a team mate's commit, and pop: git merges both into one file."""
    accepted.repo.git("stash", "--quiet", "--include-untracked")
    head = "def first():\n    return 1\n\n\n"
    accepted.write("calc.py", head + CALC)
    accepted.repo.commit("a team mate's")
    accepted.repo.git("stash", "pop", "--quiet")
    assert accepted.read("calc.py") == head + CALC + SUB
    assert loose(accepted) == []
    accepted.write("calc.py", head + CALC + SUB + MUL)
    assert isinstance(lay_unclaimed_aside(accepted.project), LaidAside)
    assert accepted.read("calc.py") == head + CALC + SUB


@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("mode", ["--soft", "--mixed"])
def test_accepted_work_that_is_taken_out_of_a_commit_stays_accepted(
    accepted: World, mode: str, *, looks: bool
) -> None:
    accepted.repo.commit("feature")
    if looks:
        assert loose(accepted) == []
    accepted.repo.git("reset", "--quiet", mode, "HEAD~1")
    assert not is_clean(accepted)
    assert loose(accepted) == []


def test_what_a_person_commits_without_a_red_is_ground_until_it_is_taken_back(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    assert loose(world) == ["calc.py"]
    world.repo.commit("by hand")
    assert loose(world) == []
    world.repo.git("reset", "--quiet", "--soft", "HEAD~1")
    assert loose(world) == ["calc.py"]


def test_a_revert_and_an_amended_commit_are_ground(accepted: World) -> None:
    accepted.repo.commit("feature")
    accepted.repo.git("revert", "--no-edit", "HEAD")
    assert loose(accepted) == []
    accepted.write("calc.py", CALC + MUL)
    accepted.repo.git("commit", "--quiet", "--all", "--amend", "--no-edit")
    assert is_clean(accepted)
    assert loose(accepted) == []


def test_a_partial_commit_leaves_the_rest_accepted(accepted: World) -> None:
    accepted.repo.git("add", "tests")
    accepted.repo.git("commit", "--quiet", "-m", "test first")
    assert loose(accepted) == []
    assert accepted.read("calc.py") == CALC + SUB


def test_an_accepted_test_that_an_agent_deletes_stays_ground_for_it(accepted: World) -> None:
    """It may write tests in red, and nothing tells its deletion from a person's checkout."""
    agents = replace(accepted.project, actor=Actor("agent", "s1", "claude"))
    (accepted.root / "tests/test_sub.py").unlink()
    before_call(agents)
    state = accepted.project.state()
    assert find_losses(agents, state, agents.workspace.snapshot()).blocking


# -- an open turn ------------------------------------------------------------------------------


def test_what_a_person_committed_in_a_turn_is_not_undone_by_strikes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = CALC + SUB.replace("a - b", "a * b")
    canned.can(monkeypatch)
    world.green_by_record()
    world.write("calc.py", wrong)
    world.repo.commit("work in progress")
    assert world.settle().verdict.kind == "still-red"
    world.write("calc.py", wrong + "\n\nA = 1\n")
    assert world.settle().aside is not None
    assert world.read("calc.py") == wrong
    assert is_clean(world)
    assert loose(world) == []


def test_a_test_bug_does_not_undo_a_commit_either(world: World) -> None:
    from verdigris.turns.test_bug import Reported, report_bug

    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    world.repo.commit("work in progress")
    reported = report_bug(world.project, ["tests/test_sub.py:5"], "wrong", cwd=world.root)
    assert isinstance(reported, Reported)
    assert reported.paths == ()
    assert is_clean(world)
    assert world.state.aside == {}


def test_an_aborted_refactor_keeps_what_was_committed_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verdigris.turns import refactor

    canned.can(monkeypatch)
    refactor.begin(world.project, uncovered=False)
    world.write("calc.py", CALC.replace("a, b", "first, b").replace("a + b", "first + b"))
    world.repo.commit("names")
    kept = world.read("calc.py")
    world.write("calc.py", kept + "\n\nA = 1\n")
    refactor.abort(world.project)
    assert world.read("calc.py") == kept
    assert is_clean(world)
