"""`make walk`: walks with new seeds until the time is up, and a list of the distinct violations.

A violation is made small, printed, and remembered: from then on walks go past its kind.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import get_state_machine_test

from walk.every_rule import Walk
from walk.known import KNOWN
from walk.laws import Violation

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MINUTES, FIRST_SEED = "WALK_MINUTES", "WALK_SEED"
SHRINKING_SECONDS = 120
EACH = settings(
    max_examples=5,
    stateful_step_count=30,
    deadline=None,
    database=None,
    print_blob=False,
    report_multiple_bugs=False,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@dataclass
class Tally:
    began: float = field(default_factory=time.monotonic)
    walks: int = 0
    told: int = 0
    """Whole minutes of which something was said."""
    found: dict[str, str] = field(default_factory=dict)

    @property
    def minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    def tell(self) -> None:
        if int(self.minutes) > self.told:
            self.told = int(self.minutes)
            _say(f"{self.told:4} min  {Walk.steps} steps  {Walk.walks} walks  {len(self.found)} violations")


def test_walk_until_the_time_is_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(engine, "MAX_SHRINKING_SECONDS", SHRINKING_SECONDS)
    monkeypatch.setattr(Walk, "known", set(KNOWN))
    limit, start = float(os.environ.get(MINUTES, "60")), int(os.environ.get(FIRST_SEED, "1"))
    tally = Tally()
    with capsys.disabled():
        number = start
        while tally.minutes < limit:
            _walk(number, tally)
            number += 1
            tally.tell()
        _say(f"{Walk.steps} steps in {Walk.walks} walks, seeds {start} to {number - 1}")
        for kind, times in sorted(Walk.met.items()):
            _say(f"known: {kind} ({times} times)")
        for kind in tally.found:
            _say(f"violation: {kind}")
    assert not tally.found, f"{len(tally.found)} violations; each is printed above"


def _walk(number: int, tally: Tally) -> None:
    """One seed; what it finds becomes known to the next ones."""
    Walk.wanted = None
    test = seed(number)(get_state_machine_test(Walk, settings=EACH))
    try:
        test()
    except Violation as violation:
        _remember(number, violation.kind, violation, tally)
    except Exception as error:  # noqa: BLE001 - whatever else goes wrong is a violation, too
        _remember(number, f"{type(error).__name__}: {str(error)[:80]}", error, tally)


def _remember(number: int, kind: str, error: Exception, tally: Tally) -> None:
    tally.found[kind] = str(error)
    Walk.known.add(kind)
    steps = [*getattr(error, "__notes__", ())]
    _say("=" * 100, f"seed {number}: {error}", "", *steps)


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
