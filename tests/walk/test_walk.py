"""Walks through git and the verbs: git is the ground, nothing is lost, every `next` leads on.

`make walk` goes on for an hour (`hour.py`).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from walk.every_rule import Walk
from walk.known import KNOWN


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Walk, "known", set(KNOWN))
    monkeypatch.setattr(Walk, "wanted", None)


def walk(walks: int, steps: int) -> None:
    """What it finds is not made small here: the printed story says enough, and `make walk` has the time."""
    run_state_machine_as_test(
        Walk,
        settings=settings(
            max_examples=walks,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.quick
def test_a_short_walk() -> None:
    walk(walks=3, steps=12)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_longer_walk() -> None:
    walk(walks=6, steps=25)
