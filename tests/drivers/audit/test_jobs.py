from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from support.small_histories import begin
from verdigris.core.errors import ToolMissing
from verdigris.drivers.audit import environment
from verdigris.drivers.audit.jobs import judge_at_once
from verdigris.drivers.audit.report import AuditOutcome, Commit, UnitReport
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.units import Selection, Unit
from verdigris.sandbox.child import Availability

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

UNITS = [Unit(Commit(str(number)), "a", "b") for number in range(6)]


def judge(job: int, units: Sequence[Unit]) -> Iterator[tuple[Unit, UnitReport]]:
    for unit in units:
        if job == 2 and unit is units[-1]:
            os.kill(os.getpid(), signal.SIGKILL)
        yield unit, UnitReport(unit.commit, unit.before, unit.after, AuditOutcome.NO_CODE, "")


def test_what_a_killed_job_leaves_is_told_by_its_absence() -> None:
    found = dict(judge_at_once(UNITS, judge, 3))
    assert [unit for unit in UNITS if unit not in found] == [UNITS[3]]


def test_without_a_sandbox_the_audit_says_how_to_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "possible", lambda _: Availability(None, "", ()))
    with pytest.raises(ToolMissing) as told:
        audit(begin(tmp_path / "repo").root, AuditRequest(Selection("HEAD")))
    assert told.value.exit_code == 69
    assert told.value.hint is not None
    assert "apparmor_restrict_unprivileged_userns=0" in told.value.hint
