"""The values of an audit, and their JSON form."""

from __future__ import annotations

import json

import pytest

from verdigris.core.errors import UserError
from verdigris.drivers.audit.report import (
    SCHEMA,
    AuditOutcome,
    AuditReport,
    Commit,
    FoundPlace,
    LostCheck,
    RedTest,
    UnitReport,
    parse_report,
    parse_unit,
    render_report,
    render_unit,
    units_with,
)

UNIT = UnitReport(
    Commit("a" * 40, ("b" * 40,), "Add sub", "Ann", "2026-01-02T03:04:05Z"),
    "1" * 40,
    "2" * 40,
    AuditOutcome.TEST_DRIVEN,
    "tests/test_calc.py::test_sub was red and is green",
    reds=(RedTest("tests/test_calc.py::test_sub", "assertion", "tests/test_calc.py", 4, "assert 0 == 1"),),
    regressed=(FoundPlace("tests/test_calc.py", 9, "test_add: fails"),),
    weakened=(LostCheck("weaker", "tests/test_calc.py", 3, "assert a == 1", "assert a"),),
    uncovered=(FoundPlace("calc.py", 7, "return 0"),),
    concerns=(FoundPlace("calc.py", 2, "an expected value stands in it", "literal"),),
    notes=("liveness not tried",),
    environment="present",
    seconds=1.25,
    paths=("calc.py", "tests/test_calc.py"),
    passing=("tests/test_calc.py::test_add",),
)
REPORT = AuditReport("main..HEAD", "b" * 40, "a" * 40, (UNIT,), version="0.1", settings={"env": "present"})


def test_a_report_reads_back_as_it_was_written() -> None:
    assert parse_report(json.loads(json.dumps(render_report(REPORT)))) == REPORT


def test_a_unit_reads_back_as_it_was_written() -> None:
    assert parse_unit(json.loads(json.dumps(render_unit(UNIT)))) == UNIT


def test_ids_that_many_units_name_are_in_memory_once() -> None:
    one, two = (parse_unit(json.loads(json.dumps(render_unit(UNIT)))) for _ in range(2))
    assert one.passing[0] is two.passing[0]


def test_each_field_of_a_unit_is_written_though_it_is_empty() -> None:
    bare = UnitReport(Commit("a" * 40), "1", "2", AuditOutcome.NO_CODE, "no code changed")
    written = render_unit(bare)
    names = {"commit", "parents", "outcome", "reds", "regressed", "weakened", "uncovered", "concerns"}
    assert names | {"environment", "seconds"} <= written.keys()
    assert written["reds"] == []


def test_the_summary_counts_outcomes_in_a_fixed_order() -> None:
    other = UnitReport(Commit("c" * 40), "1", "2", AuditOutcome.UNTESTED, "no test was red")
    report = AuditReport("r", "b", "h", (other, UNIT, other))
    assert list(report.summary.items()) == [("test-driven", 1), ("untested", 2)]


def test_units_are_chosen_by_their_outcome() -> None:
    assert units_with(REPORT, ["untested"]) == ()
    assert units_with(REPORT, ["untested", "test-driven"]) == (UNIT,)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "not an audit report"),
        ([], "not an audit report"),
        ({"schema": SCHEMA, "units": [{}]}, "damaged"),
        ({"schema": SCHEMA, "units": [{"commit": "a", "outcome": "sunny"}]}, "damaged"),
    ],
)
def test_what_is_no_report_is_refused_with_words(data: object, says: str) -> None:
    with pytest.raises(UserError, match=says):
        parse_report(data)


def test_keys_of_a_newer_version_are_passed_over() -> None:
    written = render_report(REPORT)
    written["later"] = 1
    written["units"][0]["later"] = 2
    assert parse_report(written) == REPORT
