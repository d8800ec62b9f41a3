"""Models play a cycle: from a spec to evidence, and what becomes of those who answer otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.cycle_runs import PlayedCycle, make_played
from support.cycles import PLAN_PATH, TEST_PATH
from verdigris.core.state import Stage
from verdigris.drivers.cycle.completion import verify
from verdigris.drivers.cycle.identity import identity_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> PlayedCycle:
    """Before the cycle, with all roles played from a recording of honest answers."""
    return make_played(tmp_path / "project")


def test_four_models_take_a_spec_to_evidence_that_holds(world: PlayedCycle) -> None:
    ended = world.run()
    assert (ended.outcome, len(ended.commits)) == ("cycle-done", 3)
    assert world.subjects() == [
        "docs(plan): what the tests of SPEC-001 assert",
        "test: the scenarios of SPEC-001",
        "feat: SPEC-001, shown by 2 tests",
    ]
    assert verify(world.project, "EVID-001") == ()
    assert {stage: [*map(identity_of, who)] for stage, who in world.cycle.workers.items()} == {
        Stage.PLAN: ["cycle/agent/cycle:planner:c1.1"],
        Stage.RED: ["cycle/agent/cycle:test_author:c1.2"],
        Stage.VALIDATE: ["cycle/agent/cycle:validator:c1.3"],
        Stage.GREEN: ["cycle/agent/cycle:coder:c1.4"],
    }
    assert world.repo.git("log", "-1", "--format=", "--name-only", "HEAD~1").split() == ["calc.py", TEST_PATH]
    assert world.repo.git("log", "-1", "--format=", "--name-only", "HEAD~2") == PLAN_PATH
    assert world.at_rest
