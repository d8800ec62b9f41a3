from __future__ import annotations

import json
from pathlib import Path

import pytest

from verdigris.core.errors import UserError
from verdigris.drivers import answer_keys
from verdigris.drivers.fleet.unit import FleetUnit, UnitOutcome, choose_shard, judge_end, read_units

pytestmark = pytest.mark.quick

AUDIT = {"kind": "audit", "repo": "calc", "commit": "abc"}
REPLAY = {"kind": "replay", "repo": "/srv/calc", "corpus": "corpus", "id": "calc-1"}
MACHINE = {"kind": "machine", "repo": "kata", "steps": 4}


def unit(asked: object) -> FleetUnit:
    [found] = read_units(json.dumps(asked), "/home/tasks")
    return found


def test_each_kind_is_a_command_in_its_repository() -> None:
    assert unit(AUDIT).repo == "/home/tasks/calc"
    assert unit(AUDIT).words == ("audit", "--json", "--", "abc")
    assert unit({**AUDIT, "options": ["--deep"]}).words == ("audit", "--json", "--deep", "--", "abc")
    assert unit(REPLAY).repo == "/srv/calc"
    words = ("corpus", "verify", "--json", "--id", "calc-1", "--", "/home/tasks/corpus")
    assert unit(REPLAY).words == words
    assert unit(MACHINE).words == ("run", "--json", "--steps", "4")


def test_a_unit_is_known_by_what_it_asks_and_the_same_line_is_one() -> None:
    lines = [AUDIT, {"commit": "abc", "repo": "calc", "kind": "audit"}, REPLAY]
    units = read_units("\n".join(map(json.dumps, lines)) + "\n\n", "/")
    assert [one.kind for one in units] == ["audit", "replay"]
    assert units[0].key != units[1].key


def test_other_code_under_the_same_version_has_no_results_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = unit(AUDIT).key
    monkeypatch.setattr(answer_keys, "CODE", tmp_path)
    assert unit(AUDIT).key != before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{oops", "line 1 of the tasks is not JSON"),
        ('{"kind": "dance", "repo": "."}', "no known kind"),
        ('{"kind": "audit", "repo": "."}', "lacks 'commit'"),
        ('{"kind": "audit", "repo": ".", "commit": 7}', "lacks 'commit'"),
        ('{"kind": "machine", "repo": ".", "step": 7}', "'step', which is not known"),
        ('{"kind": "machine", "repo": ".", "steps": "7"}', "not a number"),
        ('{"kind": "audit", "repo": ".", "commit": "a", "options": "x"}', "not a list"),
        ("\n", "no unit"),
        ("[1]", "no known kind"),
    ],
)
def test_a_wrong_line_is_named(line: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_units(line, "/")


def test_shards_are_disjoint_and_whole() -> None:
    units = read_units("\n".join(json.dumps({**AUDIT, "commit": str(n)}) for n in range(50)), "/")
    parts = [choose_shard(units, part, 3) for part in (1, 2, 3)]
    assert sorted(one.key for part in parts for one in part) == sorted(one.key for one in units)
    assert all(parts)


def judged(
    asked: object, code: int, document: object = None, error: str = ""
) -> tuple[UnitOutcome, tuple[str, ...]]:
    found = judge_end(unit(asked), code, "" if document is None else json.dumps(document), error)
    return found.outcome, found.answers


def test_verdicts_are_told_apart_from_what_blames_nobody_and_from_the_machine() -> None:
    holds = {"triples": [{"id": "x", "answer": "holds"}]}
    assert judged(REPLAY, 0, holds) == (UnitOutcome.VERDICT, ("holds",))
    assert judged(REPLAY, 1, {"triples": [{"answer": "unverified"}]}) == (
        UnitOutcome.UNVERIFIED,
        ("unverified",),
    )
    assert judged(AUDIT, 0, {"units": [{"outcome": "untested"}]}) == (UnitOutcome.VERDICT, ("untested",))
    assert judged(AUDIT, 0, {"units": [{"outcome": "infrastructure"}]})[0] is UnitOutcome.INFRASTRUCTURE
    assert judged(MACHINE, 1, {"event": "ended", "outcome": "blocked"}) == (UnitOutcome.VERDICT, ("blocked",))
    assert judged(AUDIT, 2, {"error": {"message": "no such commit"}}) == (UnitOutcome.UNVERIFIED, ())
    for code in (-9, 69, 70, 130):
        assert judged(AUDIT, code)[0] is UnitOutcome.INFRASTRUCTURE
    assert judged(AUDIT, 0)[0] is UnitOutcome.INFRASTRUCTURE  # it printed nothing


def test_the_last_event_of_a_run_tells_its_end_and_times_are_no_part_of_a_result() -> None:
    lines = '{"event": "step", "time": "a"}\n{"event": "ended", "outcome": "kata-done", "time": "b"}\n'
    found = judge_end(unit(MACHINE), 0, lines)
    assert found.answers == ("kata-done",)
    assert found.report == {"event": "ended", "outcome": "kata-done"}
