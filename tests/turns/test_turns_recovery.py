from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support import canned
from support.killing import Rehearsed, compare_with_kills, rehearse
from support.turns import CALC, MUL, SUB, SUB_ID, TEST_SUB, World, make_world
from support.unconfined import without_sandbox
from verdigris.core.events import (
    Event,
    Formatted,
    Formatting,
    LayingAside,
    Proved,
    Proving,
    RefactorBegun,
    RefactorEnded,
    Repair,
    Restoring,
)
from verdigris.core.state import Phase
from verdigris.storage.intents import recover
from verdigris.turns import aside, refactor
from verdigris.turns.claim import claim
from verdigris.turns.git import sync
from verdigris.turns.settle import settle
from verdigris.turns.test_bug import report_bug

pytestmark = pytest.mark.usefixtures("remembered_runs")

MUL_ID = "tests/test_mul.py::test_mul"
TEST_MUL = "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"
WRONG = CALC + "\n\ndef sub(a, b):\n    return 0\n"


@pytest.fixture
def canned_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    canned.can(monkeypatch)


def run_settle(world: World) -> object:
    return settle(world.project)


def kept(world: World, told: tuple[str, ...]) -> dict[str, bytes | None]:
    """The bytes behind an event's `path blob`."""
    pairs = (each.rsplit(" ", 1) for each in told)
    return {path: world.project.workspace.blob_bytes(blob) for path, blob in pairs}


def old_or_new(done: Rehearsed, *, kills: int) -> None:
    """Nothing but the two, and both are seen."""
    assert len(done.resting) == 2
    assert [done.after[0], done.after[-1]] == done.resting
    assert done.kills >= kills


def test_nothing_open_is_nothing_to_recover(world: World) -> None:
    assert recover(world.project) is None


def test_a_process_that_is_killed_leaves_what_a_copy_of_the_disk_shows(
    world: World, tmp_path: Path, canned_runs: None
) -> None:
    """At every step of setting edits aside, which are many; all other tests look at copies."""
    world.green_by_record("*.py")
    world.write("calc.py", WRONG)
    settle(world.project)
    world.write("calc.py", WRONG + "# again\n")
    world.write("extra.py", "Y = 1\n")
    assert compare_with_kills(world, tmp_path, run_settle) > 10


def test_settle_that_accepts(world: World, tmp_path: Path, canned_runs: None) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    done = rehearse(world, tmp_path, run_settle, again=True)
    old_or_new(done, kills=4)
    assert done.resting[-1].state.phase is Phase.RED


@pytest.mark.slow
def test_settle_that_accepts_with_real_runs(world: World, tmp_path: Path) -> None:
    world.green()
    world.write("calc.py", CALC + SUB)
    old_or_new(rehearse(world, tmp_path, run_settle, again=True), kills=4)


def test_settle_that_strikes_out(tmp_path: Path, canned_runs: None) -> None:
    world = make_world(tmp_path / "repo", **{"gone.py": "X = 1\n"})
    world.green_by_record("*.py")
    world.write("calc.py", WRONG)
    settle(world.project)
    world.write("calc.py", WRONG + "# again\n")
    world.write("extra.py", "Y = 1\n")
    world.write("notes.md", "mine\n")
    (world.root / "linked.py").symlink_to("calc.py")
    (world.root / "gone.py").unlink()
    done = rehearse(world, tmp_path, run_settle, again=True, check=repaired)
    old_or_new(done, kills=12)
    new = done.resting[-1]
    assert new.state.phase is Phase.RED
    assert new.state.aside["a1"].paths == ("calc.py", "extra.py", "gone.py", "linked.py")
    assert new.files["calc.py"][1] == CALC.encode()
    assert new.files["notes.md"] == done.resting[0].files["notes.md"]


def repaired(world: World) -> None:
    """Whoever finished the setting aside, the log says why, once."""
    assert len(world.events(Repair)) == len(world.state.aside)


def test_settle_of_which_some_claims_are_struck_out(world: World, tmp_path: Path, canned_runs: None) -> None:
    world.write("tests/test_sub.py", TEST_SUB)
    world.write("tests/test_mul.py", TEST_MUL)
    world.write("minus.py", "")
    world.write("times.py", "")
    world.red_by_record(SUB_ID, MUL_ID)
    world.claim(SUB_ID, "minus.py")
    world.claim(MUL_ID, "times.py")
    world.write("minus.py", SUB)
    world.write("times.py", "def mul(a, b):\n    return 0\n")
    settle(world.project)
    world.write("times.py", "def mul(a, b):\n    return 1\n")
    done = rehearse(world, tmp_path, run_settle, again=True)
    old, laid, new = done.resting
    assert (old.state.phase, laid.state.phase, new.state.phase) == (Phase.GREEN, Phase.GREEN, Phase.RED)
    assert list(laid.state.claims) == [SUB_ID]
    assert (new.files["times.py"][1], new.files["minus.py"][1]) == (b"", SUB.encode())


def test_settle_with_a_formatter(tmp_path: Path, canned_runs: None) -> None:
    tool = (
        "import pathlib, sys\nfor n in (*sys.argv[1:], 'tests/test_sub.py'):\n"
        "    p = pathlib.Path(n)\n    p.write_text(p.read_text().rstrip() + '\\n# formatted\\n')\n"
    )
    world = make_world(tmp_path / "repo", f"    format: {sys.executable} tools/fmt\n", **{"tools/fmt": tool})
    world.green_by_record()
    world.write("calc.py", CALC + SUB + "\n\n")
    done = rehearse(world, tmp_path, run_settle, keeps=False)
    old, formatted, new = done.resting
    assert (old.state.phase, formatted.state.phase, new.state.phase) == (Phase.GREEN, Phase.GREEN, Phase.RED)
    assert formatted.files == new.files
    assert new.files["tests/test_sub.py"] == old.files["tests/test_sub.py"]


def test_a_proving_run_of_a_settlement(
    world: World, tmp_path: Path, canned_runs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, as it is done where there is no sandbox."""
    without_sandbox(monkeypatch)
    world.green_by_record("*.py")
    world.write("calc.py", CALC.replace("+", "*") + SUB)
    world.write("extra.py", "Y = 1\n")
    done = rehearse(world, tmp_path, run_settle, again=True)
    old_or_new(done, kills=20)
    old, new = done.resting
    assert (old.files, new.state.strikes) == (new.files, {SUB_ID: 1})


def test_bytes_written_during_a_proving_run_that_was_killed_are_kept(world: World) -> None:
    world.green_by_record()
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    edited = world.project.workspace.snapshot()
    world.project.record(Proving(paths=("calc.py",), edited=edited, start=start))
    world.write("calc.py", "# a person's\n")
    assert recover(world.project) == "brought the turn's edits back"
    assert world.read("calc.py") == CALC + SUB
    (proved,) = world.events(Proved)
    assert isinstance(proved, Proved)
    assert kept(world, proved.displaced) == {"calc.py": b"# a person's\n"}


def test_an_interrupted_format_is_undone_in_every_protected_file_and_its_bytes_are_kept(world: World) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)
    tree = world.project.workspace.snapshot()
    world.project.record(Formatting(paths=("calc.py",), tree=tree))
    world.write("calc.py", "half")
    world.write("tests/test_sub.py", "strayed")
    world.write("notes.md", "mine\n")
    assert recover(world.project) == "undid an interrupted format"
    assert (world.read("calc.py"), world.read("tests/test_sub.py")) == (CALC + SUB, TEST_SUB)
    assert world.read("notes.md") == "mine\n"
    (undone,) = world.events(Formatted)
    assert isinstance(undone, Formatted)
    assert undone.undone
    assert kept(world, undone.displaced) == {"calc.py": b"half", "tests/test_sub.py": b"strayed"}


def test_test_bug(world: World, tmp_path: Path) -> None:
    world.green_by_record()
    world.write("calc.py", CALC + SUB)

    def operate(world: World) -> object:
        return report_bug(world.project, ["tests/test_sub.py:5"], "wrong", cwd=world.root)

    done = rehearse(world, tmp_path, operate)
    old_or_new(done, kills=6)
    assert list(done.resting[-1].state.test_bugs) == ["b1"]


def laid_aside(world: World) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("extra.py", "Y = 1\n")
    aside.lay_unclaimed_aside(world.project)


def test_aside(world: World, tmp_path: Path) -> None:
    world.write("calc.py", CALC + SUB)
    world.write("extra.py", "Y = 1\n")
    done = rehearse(world, tmp_path, lambda w: aside.lay_unclaimed_aside(w.project), again=True)
    old_or_new(done, kills=8)
    assert list(done.resting[-1].state.aside) == ["a1"]


def test_restore(tmp_path: Path, canned_runs: None) -> None:
    world = make_world(tmp_path / "repo", "strikes: 1\n")
    world.green_by_record()
    world.write("calc.py", WRONG)
    world.write("extra.py", "Y = 1\n")
    settle(world.project)
    world.green_by_record()
    moved_on = f'"""Sums."""\n\n\n{CALC}'
    world.write("calc.py", moved_on)
    done = rehearse(world, tmp_path, lambda w: aside.restore(w.project, "a1"), keeps=False)
    old_or_new(done, kills=8)
    old, new = done.resting
    assert (old.files["calc.py"][1], new.files["calc.py"][1]) == (
        moved_on.encode(),
        (moved_on + WRONG[len(CALC) :]).encode(),
    )
    assert new.state.aside == {}


def test_claim_that_brings_edits_back(world: World, tmp_path: Path) -> None:
    laid_aside(world)
    world.write("tests/test_sub.py", TEST_SUB)
    world.red_by_record(SUB_ID)
    done = rehearse(
        world,
        tmp_path,
        lambda w: claim(w.project, [SUB_ID], ["calc.py"], cwd=w.root),
        again=True,
        keeps=False,
    )
    old, claimed, new = done.resting
    assert (list(claimed.state.aside), claimed.files) == (["a1"], old.files)
    assert (new.state.aside, new.files["calc.py"][1]) == ({}, (CALC + SUB).encode())


def refactoring(world: World) -> None:
    record = json.dumps({"tests/test_add.py::test_add": "pass"}).encode()
    project = world.project
    begun = RefactorBegun(tree=project.workspace.snapshot(), record=project.workspace.blob(record))
    project.record(begun)


def aborted(world: World) -> None:
    """Whoever finished the abort, the log says that it was one, once."""
    assert len(world.events(RefactorEnded)) == len(world.state.aside)


def test_refactor_abort(world: World, tmp_path: Path) -> None:
    refactoring(world)
    world.write("calc.py", CALC.replace("b)", "c)"))
    world.write("tests/test_add.py", "")
    done = rehearse(world, tmp_path, lambda w: refactor.abort(w.project), again=True, check=aborted)
    old_or_new(done, kills=8)
    assert done.resting[-1].state.phase is Phase.RED


def test_refactor_end_that_accepts(world: World, tmp_path: Path, canned_runs: None) -> None:
    refactoring(world)
    world.write("calc.py", "# better\n" + CALC)
    done = rehearse(world, tmp_path, lambda w: refactor.end(w.project), again=True)
    old_or_new(done, kills=2)


def test_refactor_end_that_strikes_out(world: World, tmp_path: Path, canned_runs: None) -> None:
    refactoring(world)
    world.write("calc.py", CALC.replace("+", "*"))
    refactor.end(world.project)
    world.write("calc.py", CALC.replace("+", "/"))
    done = rehearse(world, tmp_path, lambda w: refactor.end(w.project), again=True)
    old_or_new(done, kills=6)
    assert list(done.resting[-1].state.aside) == ["a1"]


def test_sync(world: World, tmp_path: Path) -> None:
    world.repo.git("switch", "--quiet", "--create", "side")
    world.write("calc.py", CALC + MUL)
    world.repo.commit("theirs")
    world.repo.git("switch", "--quiet", "main")
    done = rehearse(
        world, tmp_path, lambda w: sync(w.project, ["switch", "--quiet", "side"]), again=True, keeps=False
    )
    assert (done.resting[0].head, done.resting[-1].head) == (
        b"ref: refs/heads/main\n",
        b"ref: refs/heads/side\n",
    )
    assert all(left in (done.resting[0], done.resting[-1]) for left in done.after)


@pytest.mark.parametrize("kind", [LayingAside, Restoring, Proving, Formatting])
def test_a_recovery_that_is_killed_is_taken_up_again(world: World, tmp_path: Path, kind: type[Event]) -> None:
    workspace = world.project.workspace
    start = workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    world.write("extra.py", "Y = 1\n")
    edited = workspace.snapshot()
    paths = ("calc.py", "extra.py")
    intents = {
        LayingAside: LayingAside(aside="a1", paths=paths, edited=edited, start=start, why=""),
        Restoring: Restoring(aside="a1", paths=paths, before=edited, after=start),
        Proving: Proving(paths=paths, edited=edited, start=start),
        Formatting: Formatting(paths=paths, tree=start),
    }
    world.project.record(intents[kind])
    done = rehearse(world, tmp_path, lambda w: recover(w.project), keeps=False)
    assert done.after == [done.resting[-1]] * (done.kills + 1)
    assert done.kills >= 4
