from __future__ import annotations

import pytest

from support import audits
from verdigris.core.value import replace
from verdigris.drivers.audit.report import AuditOutcome, FoundPlace
from verdigris.views.audit.findings import (
    KINDS,
    count_outcomes,
    dot_of,
    findings,
    fingerprints,
    tell_time,
    unit_findings,
)

pytestmark = pytest.mark.quick


def test_every_outcome_has_a_mark_of_its_own_and_says_what_it_means() -> None:
    assert set(AuditOutcome) <= KINDS.keys()
    assert len({kind.mark for kind in KINDS.values()}) == len(KINDS)
    assert all(kind.next for kind in KINDS.values() if kind.level != "note")


def test_the_gravest_come_first_whatever_came_first_in_time() -> None:
    rules = [one.rule for one in findings(audits.EVERYTHING)]
    assert rules == [
        *("regressed", "weakened", "weakened", "hollow", "untested"),
        *("uncovered", "uncovered", "concern", "unverified", "infrastructure"),
    ]


def test_uncovered_lines_that_follow_each_other_are_one_finding() -> None:
    lines = [one for one in unit_findings(audits.UNTESTED) if one.rule == "uncovered"]
    assert [one.place for one in lines] == ["src/cart.py:10-11", "src/cart.py:20"]
    assert lines[1].text == "no test runs this changed line: `pass`"


def test_an_untested_unit_is_placed_in_the_first_file_that_it_changes() -> None:
    [untested] = [one for one in unit_findings(audits.UNTESTED) if one.rule == "untested"]
    assert (untested.place, untested.text) == ("src/cart.py", "source changed, and no test was red before")


def test_a_concern_that_makes_a_change_hollow_is_told_once() -> None:
    exits = FoundPlace("src/a.py", 3, "`os._exit(0)` ends the process", "exits")
    reads = FoundPlace("src/a.py", 9, "source imports pytest", "framework-in-source")
    unit = replace(audits.HOLLOW, hollow=(f"{exits.place}: exits: {exits.what}",), concerns=(exits, reads))
    assert [(one.rule, one.line) for one in unit_findings(unit)] == [("hollow", 3), ("concern", 9)]


def test_an_outcome_without_findings_is_told_by_its_reason() -> None:
    bare = replace(audits.WEAKENED, weakened=())
    assert [(one.rule, one.text) for one in unit_findings(bare)] == [
        ("weakened", "1 test asks less than before")
    ]


def test_sound_units_without_findings_say_nothing() -> None:
    sound = audits.report(audits.CHARACTERIZATION, audits.REFACTOR, audits.NO_CODE)
    assert findings(sound) == []


def test_a_fingerprint_stays_when_lines_move_and_differs_between_findings() -> None:
    found = findings(audits.EVERYTHING)
    moved = [replace(one, line=one.line + 40, last_line=one.last_line + 40) for one in found]
    assert fingerprints(moved) == fingerprints(found)
    assert len(set(fingerprints(found))) == len(found)


def test_the_fingerprint_of_a_regression_is_of_its_test_not_of_how_it_fails() -> None:
    def printed(what: str) -> list[str]:
        unit = replace(audits.REGRESSED, regressed=(FoundPlace("t.py", 3, what),))
        return fingerprints(list(unit_findings(unit)))

    assert printed("t.py::test_a: assert 1 == 2") == printed("t.py::test_a: assert 1 == 3")
    assert printed("t.py::test_a: assert 1 == 2") != printed("t.py::test_b: assert 1 == 2")


def test_a_fingerprint_of_a_concern_forgets_the_lines_in_its_text() -> None:
    def printed(what: str) -> list[str]:
        unit = replace(audits.REFACTOR, concerns=(FoundPlace("a.py", 3, what, "kind"),))
        return fingerprints(list(unit_findings(unit)))

    assert printed("as in a.py:12") == printed("as in a.py:13")
    assert printed("holds 12") != printed("holds 13")


def test_paths_that_are_not_utf_8_have_fingerprints() -> None:
    unit = replace(audits.REFACTOR, concerns=(FoundPlace("a\udcff.py", 3, "odd"),))
    assert len(fingerprints(list(unit_findings(unit)))) == 1


def test_outcomes_are_counted_in_words() -> None:
    assert count_outcomes(audits.report()) == "0 changes"
    assert count_outcomes(audits.report(audits.DRIVEN)) == "1 change: 1 test-driven"
    assert count_outcomes(audits.report(audits.DRIVEN, audits.UNTESTED)) == (
        "2 changes: 1 test-driven, 1 untested"
    )


def test_colours_say_who_is_blamed() -> None:
    assert [dot_of(unit.outcome) for unit in audits.UNITS] == [
        *("green", "red", "red", "red", "red"),
        *("green", "green", None, "yellow", "yellow"),
    ]


def test_times_are_told_as_people_say_them() -> None:
    assert [tell_time(one) for one in (0.04, 59.94, 61, 3725)] == [
        *("0.0 s", "59.9 s", "1 min 01 s", "1 h 02 min")
    ]
