"""A program runs: one behaviour pinned per iteration, and a pause with a reason where it is stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.loops import (
    LAST_CODE,
    NAME,
    make_loop,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("apart", "remembered_runs")


def test_each_iteration_pins_one_behaviour_in_one_commit(tmp_path: Path) -> None:
    world = make_loop(tmp_path / "project")
    ended = world.run(2)
    assert (ended.outcome, ended.steps) == ("limit", 2), ended
    assert world.subjects() == [
        f"[Autoloop: {NAME}] Iteration 1: the first item",
        f"[Autoloop: {NAME}] Iteration 2: the last item",
    ]
    assert world.file("port.py") == LAST_CODE.rstrip("\n")
    assert [(one.status, one.target) for one in world.state.harness] == [
        ("passing", "first"),
        ("passing", "last"),
    ]
    assert [(one.status, one.metric) for one in world.state.iterations] == [
        ("accepted", 1.0),
        ("accepted", 2.0),
    ]
    assert world.state.lessons == ("An iterable may be read only once",)
    assert world.repo.git("status", "--porcelain") == ""
    assert world.repo.git("show", "main:port.py") == ""
