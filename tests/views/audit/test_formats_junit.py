from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from support import audits
from verdigris.core.value import replace
from verdigris.drivers.audit.report import UnitReport
from verdigris.views.audit.formats import render_junit

pytestmark = pytest.mark.quick


def _read(*units: UnitReport) -> ET.Element:
    return ET.fromstring(render_junit(audits.report(*units)))


def test_each_unit_is_a_test_case_and_the_counts_are_right() -> None:
    suite = _read(*audits.UNITS).find("testsuite")
    assert suite is not None
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases][:1] == ["111111111 Add up the prices of a cart"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("10", "4", "2")
    assert len(suite.findall("testcase/failure")) == 4
    assert len(suite.findall("testcase/skipped")) == 2


def test_a_failure_names_outcome_reason_places_and_the_next_move() -> None:
    failure = _read(audits.WEAKENED).find("testsuite/testcase/failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("weakened", "1 test asks less than before")
    assert failure.text is not None
    assert "tests/test_cart.py:4: weaker: was `assert total([3, 4]) == 7`" in failure.text
    assert "next: bring the check back" in failure.text


def test_what_could_not_be_told_is_skipped_with_its_reason() -> None:
    skipped = _read(audits.UNVERIFIED).find("testsuite/testcase/skipped")
    assert skipped is not None
    assert skipped.get("message") == (
        "unverified: the suite is broken before and after: pytest is not installed"
    )


def test_characters_that_xml_cannot_hold_are_written_out() -> None:
    odd = replace(audits.UNTESTED, commit=audits.commit(2, "a\x00b\x1b\udcff <&>"), why="c\x07")
    case = _read(odd).find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "222222222 a\\x00b\\x1b\\xff <&>"


def test_seconds_are_plain_numbers() -> None:
    case = _read(audits.DRIVEN).find("testsuite/testcase")
    assert case is not None
    assert float(case.get("time", "")) == 1.25
