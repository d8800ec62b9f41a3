from __future__ import annotations

import json

from verdigris.core.events import EditClaim, Event, TestRun, decode, encode
from verdigris.core.report import Status

SEEDS = {
    "test_run": {"test_id", "test_id_source", "status", "command", "duration_ms"},
    "edit_claim": {"test_id", "edit_target"},
}


def failing_run() -> TestRun:
    return TestRun(
        test_id="t.py::t",
        test_id_source="native",
        status=Status.FAIL,
        command="pytest",
        duration_ms=3,
        tree="abc",
        native_id="t.py::t",
        red="valid",
    )


def test_an_event_comes_back_through_json_text() -> None:
    for event in (failing_run(), EditClaim(test_id="t", edit_target="src/a.py", red=3, implied=True)):
        kind, data = encode(event)
        assert decode(kind, json.loads(json.dumps(data))) == event


def test_the_seeds_field_names_are_kept() -> None:
    for event in (failing_run(), EditClaim(test_id="t", edit_target="src/a.py", red=3)):
        kind, data = encode(event)
        assert data.keys() >= SEEDS[kind]


def test_an_unknown_type_is_no_event_of_ours() -> None:
    assert decode("from_the_future", {}) is None


def test_the_names_of_the_issue_are_all_there() -> None:
    named = "configured test_run edit_claim edit denied turn_opened settled accepted reverted"
    named += " repair refactor_begun refactor_ended test_bug oracle_frozen violation"
    assert set(named.split()) <= Event.kinds.keys()
