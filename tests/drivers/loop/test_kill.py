"""A run that is killed anywhere goes on where it was: nothing is done twice, nothing is lost."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from support.loops import FIRST_STUB, MAKE_FIRST, TESTS, WRONG_FIRST, PlayedLoop, make_loop, pin
from support.machines import edit
from verdigris.storage.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.events import Event

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")
BEFORE = {
    "BehaviourPinned",
    "BehaviourMade",
    "GreenFailed",
    "TestRethought",
    "RefactorChosen",
    "Committed",
    "Measured",
    "IterationEnded",
    "Settled",
}
AFTER = {"IterationBegun", "StepBegun", "Edit", "EditClaim", "TestBug", "Committing", *BEFORE}


class Killer:
    """Lets a process die once before and after each kind of record."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen
        self._seen.touch()

    @property
    def places(self) -> list[str]:
        return self._seen.read_text().splitlines()

    def arm(self) -> None:
        record = Project.record

        def recorded(project: Project, *events: Event, **named: Any) -> Any:
            kinds = [type(event).__name__ for event in events]
            for kind in kinds:
                if kind in BEFORE:
                    self._die_once(f"before {kind}")
            done = record(project, *events, **named)
            for kind in kinds:
                if kind in AFTER:
                    self._die_once(f"after {kind}")
            return done

        pytest.MonkeyPatch().setattr(Project, "record", recorded)

    def _die_once(self, place: str) -> None:
        if place in self.places:
            return
        with self._seen.open("a") as seen:
            seen.write(f"{place}\n")
        os.kill(os.getpid(), signal.SIGKILL)


def _killed(world: PlayedLoop, killer: Killer) -> bool:
    """A run in a child; whether it died."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            killer.arm()
            world.run(2 - len(world.state.iterations))
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may leave the child and run on as a second pytest
            traceback.print_exc(file=sys.stderr)
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


def _script(world: PlayedLoop) -> None:
    """Each kind of record is made: the first test is wrong, and revised."""
    wrong = edit("test", "first", {TESTS: WRONG_FIRST, "port.py": FIRST_STUB}, pin=pin("first", "the first"))
    right = WRONG_FIRST.replace("== 4", "== 3")
    world.plays(
        step_21_test_writer=[wrong],
        step_22_code_writer=[MAKE_FIRST] * 3,
        step_23_test_writer=[edit("test", "the first is 3", {TESTS: right})],
        step_24_code_writer=[MAKE_FIRST],
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_anywhere_a_run_ends_with_the_same_commits(tmp_path: Path) -> None:
    undisturbed = make_loop(tmp_path / "a" / "project")
    _script(undisturbed)
    undisturbed.run(2)
    world, killer = make_loop(tmp_path / "b" / "project"), Killer(tmp_path / "seen")
    _script(world)
    while len(world.state.iterations) < 2 and _killed(world, killer):
        assert len(killer.places) < 60, killer.places[-9:]
    assert set(killer.places) >= {f"before {kind}" for kind in BEFORE} - {"before IterationEnded"}
    assert commits(world) == commits(undisturbed)
    assert [(one.tests, one.status, one.made) for one in world.state.harness] == [
        (one.tests, one.status, one.made) for one in undisturbed.state.harness
    ]
    assert [one.status for one in world.state.iterations] == ["accepted", "accepted"]


def commits(world: PlayedLoop) -> list[str]:
    """Tree and message of each."""
    return world.repo.git("log", "--reverse", "--format=%T %B", "main..autoloop/port").splitlines()
