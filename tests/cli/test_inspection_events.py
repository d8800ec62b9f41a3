from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.cli import inspection as view
from verdigris.core.records import Record, flatten
from verdigris.setup.repair import Repair
from verdigris.storage.log.log import Repaired
from verdigris.storage.log.verification import LogFault, Verification
from verdigris.storage.snapshots.store_repair import StoreRepair

pytestmark = pytest.mark.quick

RECORD = Record(
    seq=7,
    ts=0,
    worktree="main",
    branch="trunk",
    actor={"role": "person"},
    v=1,
    prev="0" * 64,
    type="denied",
    data={"rule": "red-first", "reason": "long", "next": "longer", "action": "claim"},
)


def test_one_line_per_event_with_the_facts_that_tell_most() -> None:
    (line,) = view.lines([RECORD])
    assert line.text == "7  1970-01-01 00:00:00  main  person  denied  red-first"
    assert line.dot == "red"


def test_columns_line_up_whatever_the_words_and_dots() -> None:
    seen = replace(RECORD, seq=1234, actor={"role": "agent"}, type="test_run", data={"test_id": "t::a"})
    shown = [f"{'' if line.dot is None else '● '}{line.text}" for line in view.lines([RECORD, seen])]
    assert shown == [
        "●    7  1970-01-01 00:00:00  main  person  denied    red-first",
        "  1234  1970-01-01 00:00:00  main  agent   test_run  t::a",
    ]
    assert view.lines([]) == []


def test_a_number_without_its_name_is_left_out() -> None:
    claim = replace(RECORD, type="edit_claim", data={"test_id": "t::a", "edit_target": "calc.py", "red": 7})
    assert view.lines([claim])[0].text.endswith("edit_claim  t::a  calc.py")


def test_data_is_the_whole_event() -> None:
    assert flatten(RECORD)["reason"] == "long"
    assert flatten(RECORD)["seq"] == 7


def test_a_whole_log_is_green_and_a_damaged_one_names_the_event() -> None:
    assert view.verification_lines(Verification((), 3))[-1].dot == "green"
    damaged = Verification((LogFault(2, "edited", "its hash differs"),), 3)
    assert view.verification_lines(damaged)[0].text == "event 2: edited: its hash differs"
    assert view.verification_document(damaged) == {
        "whole": False,
        "events": 3,
        "findings": [{"seq": 2, "kind": "edited", "message": "its hash differs"}],
    }


def test_a_repair_says_what_was_lost_and_kept() -> None:
    lossy = Repair(Repaired(3, 2, "events.damaged-1.jsonl"), (), StoreRepair("store/damaged-1", 1), ("all",))
    told = [line.text for line in view.repair_lines(lossy)]
    assert "3 events kept, 2 lost" in told[0]
    assert "1 object damaged; the old one is kept in store/damaged-1" in told[1]
    assert told[2:] == ["lost: all", "next: `tdd status`"]
    whole = Repair(Repaired(3, 0, None), (), StoreRepair(), ())
    assert "nothing to repair" in view.repair_lines(whole)[0].text
