"""Where two runs of one suite, outside the room and in it, end differently."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.report import Status, TestReport
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import TestResult


@value
class Difference:
    test_id: str
    """Or the path of a file that did not load."""
    outside: Status | None
    """None where it was not reported."""
    inside: Status | None
    why: str = ""
    """What the one that did not pass said."""


def differences(outside: TestReport, inside: TestReport) -> tuple[Difference, ...]:
    """In the order of the run outside."""
    first, second = _ends(outside), _ends(inside)
    found = []
    for test_id in {**first, **second}:
        left, right = first.get(test_id), second.get(test_id)
        if _status(left) != _status(right):
            why = next((end[1] for end in (right, left) if end and end[1]), "")
            found.append(Difference(test_id, _status(left), _status(right), why))
    return tuple(found)


def only(report: TestReport, differing: tuple[Difference, ...]) -> TestReport:
    """What the room said about the tests that it alone keeps from passing."""
    names = {one.test_id for one in differing if one.inside is not Status.PASS}
    return replace(
        report,
        results=tuple(result for result in report.results if result.id in names),
        errors=tuple(error for error in report.errors if error.path in names),
    )


def _ends(report: TestReport) -> Mapping[str, tuple[Status, str]]:
    ends = {result.id: (result.status, _said(result)) for result in report.results}
    return ends | {error.path: (Status.ERROR, f"{error.kind}: {error.message}") for error in report.errors}


def _said(result: TestResult) -> str:
    failure = result.failure
    return result.note if failure is None else f"{failure.kind}: {failure.message}"


def _status(end: tuple[Status, str] | None) -> Status | None:
    return None if end is None else end[0]
