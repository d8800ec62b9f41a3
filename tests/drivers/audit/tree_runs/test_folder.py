"""What is known of a tree's suite is kept on the disk, shared without a copy, and held in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.core.report import RunEnd, TestReport, TestUse
from verdigris.core.reuse.facts import RunRecord
from verdigris.drivers.audit.tree_runs.folder import CARRIED, WHOLE, AuditFolder, KnownSuites, Suite

SUITE = Suite(TestReport("pytest", RunEnd.FINISHED, 0, 12), traced=("a.py",))
RECORD = RunRecord(
    (("a.py", "f"),),
    ((0,),),
    {"t.py::t": TestUse(0, (), (0,), unsure=False)},
    {"": 0},
    *map(frozenset, (["a.py"], ["b"], [])),
)


@pytest.fixture
def folder(tmp_path: Path) -> AuditFolder:
    return AuditFolder(tmp_path)


def test_another_audit_finds_what_was_kept(folder: AuditFolder) -> None:
    suites = KnownSuites(folder)
    suites.keep_suite(WHOLE, "one", SUITE)
    suites.keep_record("one", RECORD)
    later = KnownSuites(folder)
    assert (later.suite(WHOLE, "one"), later.record("one")) == (SUITE, RECORD)
    assert (later.suite(CARRIED, "one"), later.suite(WHOLE, "two"), later.record("two")) == (None, None, None)


def test_what_was_asked_for_is_not_read_again(folder: AuditFolder) -> None:
    suites = KnownSuites(folder)
    suites.keep_suite(WHOLE, "one", SUITE)
    (folder.path / WHOLE / "one.json").unlink()
    assert suites.suite(WHOLE, "one") is SUITE


def test_memory_holds_only_the_last_few(folder: AuditFolder) -> None:
    suites = KnownSuites(folder)
    for number in range(20):
        suites.keep_suite(WHOLE, str(number), SUITE)
        (folder.path / WHOLE / f"{number}.json").unlink()
    assert (suites.suite(WHOLE, "0"), suites.suite(WHOLE, "19")) == (None, SUITE)


def test_what_cannot_be_read_is_not_known(folder: AuditFolder) -> None:
    KnownSuites(folder).keep_suite(WHOLE, "one", SUITE)
    (folder.path / WHOLE / "one.json").write_text('{"report": 3}')
    assert KnownSuites(folder).suite(WHOLE, "one") is None


def test_what_is_shared_stays_when_the_first_is_kept_anew(folder: AuditFolder) -> None:
    suites = KnownSuites(folder)
    suites.keep_suite(WHOLE, "one", SUITE)
    suites.share("one", "two")
    suites.keep_suite(WHOLE, "one", Suite(TestReport("pytest", RunEnd.DIED, 1, 0)))
    assert suites.suite(WHOLE, "two") == SUITE
    assert KnownSuites(folder).suite(WHOLE, "two") == SUITE


def test_nothing_is_shared_where_nothing_is_known(folder: AuditFolder) -> None:
    KnownSuites(folder).share("one", "two")
    assert KnownSuites(folder).suite(WHOLE, "two") is None
