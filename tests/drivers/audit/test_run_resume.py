"""An audit that is killed goes on; shards and jobs give the answers of one."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.gitrepo import GitRepo
from support.small_histories import CHANGES
from verdigris.core.errors import UserError
from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditReport, UnitReport, join_shards
from verdigris.drivers.audit.run import AuditRequest, audit
from verdigris.drivers.audit.schedule import split_evenly
from verdigris.drivers.audit.tree_runs.folder import find_folder
from verdigris.drivers.audit.units import Selection, find_units
from verdigris.storage.repository import find_repository

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow, pytest.mark.usefixtures("runs_once")]
RANGE = f"HEAD~{len(CHANGES)}..HEAD"


@pytest.fixture(scope="module")
def whole(history: GitRepo, runs_once: None) -> list[tuple[object, ...]]:
    return answers(audit(history.root, AuditRequest(Selection(RANGE), fresh=True)))


def answers(report: AuditReport) -> list[tuple[object, ...]]:
    return [(one.commit.id, one.outcome, one.why, one.reds, one.uncovered) for one in report.units]


class KilledWatcher:
    """Takes the audit with it while it works on the change behind so many judged ones."""

    def __init__(self, judged: int) -> None:
        self.left = judged
        self.runs = 3

    def began(self, total: int, known: int) -> None:
        assert (total, known) == (len(CHANGES), 0)

    def running(self, what: str) -> None:
        self.runs -= self.left <= 0
        if not self.runs:
            os.kill(os.getpid(), signal.SIGKILL)

    def judged(self, unit: UnitReport) -> None:
        self.left -= 1


def end_of_audit(root: Path, watcher: KilledWatcher) -> int:
    """How a process that makes the audit ends."""
    child = os.fork()
    if not child:
        try:
            audit(root, AuditRequest(Selection(RANGE)), watcher)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("judged", [0, 2])
def test_a_killed_audit_goes_on_and_gives_the_same_answers(
    history: GitRepo,
    whole: list[tuple[object, ...]],
    judged: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert end_of_audit(history.root, KilledWatcher(judged)) == -signal.SIGKILL
    # What rests on carried results is kept as an answer once it is proven; till then its suites are kept.
    folder = find_folder(find_repository(history.root)).path
    kept = [file for kind in ("units", "carried") for file in (folder / kind).glob("*.json")]
    assert len(kept) >= judged
    assert answers(audit(history.root, AuditRequest(Selection(RANGE)))) == whole


def test_jobs_give_the_answers_of_one(
    history: GitRepo, whole: list[tuple[object, ...]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert answers(audit(history.root, AuditRequest(Selection(RANGE), jobs=2))) == whole


def test_shards_join_to_the_whole(history: GitRepo, whole: list[tuple[object, ...]]) -> None:
    parts = [audit(history.root, AuditRequest(Selection(RANGE, shard=(part, 4)))) for part in (3, 1, 4, 2)]
    joined = join_shards(parts)
    assert answers(joined) == whole
    assert joined.settings == {}


def test_a_missing_shard_is_named() -> None:
    part = AuditReport("a..b", "a", "b", settings={"shard": "1/3"})
    with pytest.raises(UserError, match=r"parts 2/3, 3/3 of a\.\.b are missing"):
        join_shards([part])


def test_parts_of_different_audits_do_not_join() -> None:
    part = AuditReport("a..b", "a", "b", settings={"shard": "1/2"})
    with pytest.raises(UserError, match="different audits"):
        join_shards([part, replace(part, head="c", settings={"shard": "2/2"})])


def test_each_job_takes_neighbours(history: GitRepo) -> None:
    units = find_units(find_repository(history.root), Selection(RANGE)).units
    parts = split_evenly(units, 4)
    assert [unit for part in parts for unit in part] == list(units)
    assert {len(part) for part in parts} <= {1, 2}
    assert split_evenly((), 3) == []
