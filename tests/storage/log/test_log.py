from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from storage.log.tally import ACTOR, Tally, TallyFolding, draft, filled, lines, numbers, open_log, put_lines
from verdigris.core.errors import HarnessError, LogDamaged, UserError
from verdigris.core.records import GENESIS, Draft, Record, Schema
from verdigris.storage.log import light
from verdigris.storage.log.light import digest
from verdigris.storage.log.log import Log


def test_a_missing_log_is_the_initial_state_and_is_not_made_by_reading(tmp_path: Path) -> None:
    log = open_log(tmp_path / "tdd")

    assert log.state() == Tally()
    assert list(log.records()) == []
    assert log.verify().whole
    assert not (tmp_path / "tdd").exists()


def test_an_appended_batch_comes_back_with_its_envelope(tmp_path: Path) -> None:
    log = open_log(tmp_path)

    appended = log.append([draft(1, path="né\udcff 'x'\n"), draft(2, kind="seen")])

    assert [record.seq for record in appended.records] == [1, 2]
    assert [record.more for record in appended.records] == [1, 0]
    first, second = open_log(tmp_path).records()
    assert (first, second) == appended.records
    assert first.data == {"n": 1, "path": "né\udcff 'x'\n"}
    assert (first.worktree, first.branch, first.actor) == ("main", "trunk", ACTOR)
    assert (first.ts, first.v, first.prev) == (1_700_000_000_000, 1, GENESIS)
    assert second.prev == digest(lines(tmp_path)[0].removesuffix(b"\n"))
    assert log.state() == appended.state


def test_the_head_says_where_the_log_ends(tmp_path: Path) -> None:
    filled(tmp_path, 5, every=3)

    text = lines(tmp_path)
    assert json.loads((tmp_path / "head").read_text()) == {
        "seq": 6,
        "hash": digest(text[-1].removesuffix(b"\n")),
        "size": sum(map(len, text)),
        "checkpoint": sum(map(len, text[:3])),
        "last": text[-1].decode().removesuffix("\n"),
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "head", "lock"]


def test_the_state_that_append_returns_is_the_one_that_will_be_read(tmp_path: Path) -> None:
    log = open_log(tmp_path)

    appended = log.append([draft((1, 2), odd={"tuple": (3,)})])

    assert appended.state == log.state()
    assert appended.records[0].data["n"] == [1, 2]


def test_decisions_see_the_state_that_they_are_appended_to(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(5):
        log.transact(lambda state: [draft(state.events)])

    assert numbers(log) == [0, 1, 2, 3, 4]


def test_a_decision_for_nothing_or_that_fails_changes_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    before = (tmp_path / "events.jsonl").read_bytes(), (tmp_path / "head").read_bytes()

    assert log.transact(lambda _: []).records == ()
    with pytest.raises(OSError, match="mine"):
        log.transact(_failing)

    assert ((tmp_path / "events.jsonl").read_bytes(), (tmp_path / "head").read_bytes()) == before
    assert log.append([draft(4)]).records[0].seq == 4


def _failing(_: Tally) -> list[Draft]:
    raise OSError("mine")


@pytest.mark.parametrize("data", [{"seq": 1}, {"ts": 1}, {"x": float("inf")}, {"x": object()}])
def test_an_event_that_cannot_be_written_is_our_fault_and_changes_nothing(
    tmp_path: Path, data: dict[str, object]
) -> None:
    log = filled(tmp_path, 1)

    with pytest.raises(HarnessError, match="noted"):
        log.append([draft(2), Draft("noted", data, "main", None, ACTOR)])

    assert numbers(log) == [1]


def lose_head(at: Path) -> None:
    (at / "head").unlink()


def spoil_head(at: Path) -> None:
    (at / "head").write_bytes(b"\0")


def lose_log(at: Path) -> None:
    (at / "events.jsonl").unlink()


def cut_two_events(at: Path) -> None:
    put_lines(at, lines(at)[:-2])


def cut_a_byte_before_the_last(at: Path) -> None:
    os.truncate(at / "events.jsonl", sum(map(len, lines(at)[:-1])) - 1)


def cut_an_event(at: Path) -> None:
    put_lines(at, lines(at)[:-1])


def cut_a_byte(at: Path) -> None:
    os.truncate(at / "events.jsonl", sum(map(len, lines(at))) - 1)


def cut_half_a_line(at: Path) -> None:
    os.truncate(at / "events.jsonl", sum(map(len, lines(at))) - len(lines(at)[-1]) // 2)


def edit_the_last(at: Path) -> None:
    put_lines(at, [*lines(at)[:-1], lines(at)[-1].replace(b'"n":', b'"m":')])


def edit_the_last_but_one(at: Path) -> None:
    put_lines(at, [*lines(at)[:-2], lines(at)[-2].replace(b'"n":', b'"m":'), lines(at)[-1]])


def set_the_head_back(at: Path) -> None:
    head = (at / "head").read_bytes()
    log = open_log(at, every=1000)
    log.append([draft()])
    log.append([draft()])
    (at / "head").write_bytes(head)


def add_junk(at: Path) -> None:
    put_lines(at, [*lines(at), b"junk\n"])


def repeat_the_last(at: Path) -> None:
    put_lines(at, [*lines(at), lines(at)[-1]])


def misplace_the_checkpoint(at: Path) -> None:
    head = json.loads((at / "head").read_text())
    (at / "head").write_text(json.dumps({**head, "checkpoint": head["checkpoint"] + 1}))


DAMAGES: dict[Callable[[Path], None], str] = {
    lose_head: "damaged: its head record is missing",
    spoil_head: "damaged: its head record cannot be read",
    lose_log: "damaged at event 8: it is cut off",
    cut_two_events: "damaged at event 8: it is cut off",
    cut_a_byte_before_the_last: "damaged at event 8: it is cut off",
    edit_the_last: "damaged at event 8: it is not the one that the head",
    edit_the_last_but_one: "damaged at event 7: it is not the one that event 8",
    set_the_head_back: "damaged at event 10: it comes after the end",
    add_junk: "damaged at event 9: it cannot be read",
    repeat_the_last: "damaged at event 9: event 8 stands in its place",
    misplace_the_checkpoint: "damaged at event 8: the head record names no checkpoint",
}


@pytest.mark.parametrize("cut", [cut_an_event, cut_a_byte, cut_half_a_line])
def test_a_last_line_that_was_cut_is_written_again(tmp_path: Path, cut: Callable[[Path], None]) -> None:
    attempts: dict[str, Callable[[Log[Tally]], object]] = {
        "read": lambda log: log.state(),
        "append": lambda log: log.append([draft()]),
        "verify": lambda log: log.verify(),
    }
    for name, attempt in attempts.items():
        log = filled(tmp_path / name, 7, every=4)
        before = lines(tmp_path / name)
        cut(tmp_path / name)
        attempt(log)
        assert lines(tmp_path / name)[:8] == before
        assert log.verify().findings == ()


def test_a_light_record_that_was_cut_is_written_again(tmp_path: Path) -> None:
    filled(tmp_path, 3)
    head = light.head(str(tmp_path))
    assert head is not None
    envelope: dict[str, Any] = {"worktree": "main", "branch": "main", "actor": ACTOR, "v": 1}
    assert light.append(str(tmp_path), light.stamp(head), "denied", envelope, {"rule": "r"})
    before = lines(tmp_path)
    cut_half_a_line(tmp_path)
    assert open_log(tmp_path).state().events == 4
    assert lines(tmp_path) == before


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_refused_to_readers_and_writers_with_the_way_out(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    log = filled(tmp_path, 7, every=4)
    damage(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    for attempt in (log.state, lambda: log.append([draft()])):
        with pytest.raises(LogDamaged, match=DAMAGES[damage]) as caught:
            attempt()
        assert "tdd log verify" in (caught.value.hint or "")
        assert "tdd log repair --why WHY" in (caught.value.hint or "")

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert not log.verify().whole


@pytest.mark.parametrize("keep", [1, 40, -1])
def test_a_torn_last_line_is_taken_away_by_the_next_append(tmp_path: Path, keep: int) -> None:
    log = filled(tmp_path, 3)
    (tmp_path / "two").mkdir()
    longer = lines_of_four(tmp_path / "two")
    put_lines(tmp_path, [*lines(tmp_path), longer[-1][:keep]])

    assert numbers(log) == [1, 2, 3]
    assert log.state().events == 3
    log.append([draft("next")])
    assert numbers(log) == [1, 2, 3, "next"]
    assert log.verify().findings == ()


def test_a_batch_of_which_lines_are_missing_is_taken_away_as_a_whole(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    log.append([draft("a"), draft("b"), draft("c")])
    put_lines(tmp_path, lines(tmp_path)[:-1])
    (tmp_path / "head").write_bytes(head)

    assert numbers(log) == [1, 2, 3]
    log.append([draft("next")])
    assert numbers(log) == [1, 2, 3, "next"]


def test_a_whole_batch_beyond_the_head_is_taken_in(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    after = log.append([draft("a"), draft("b")]).state
    (tmp_path / "head").write_bytes(head)

    assert log.state() == after
    assert log.verify().findings == ()
    assert (tmp_path / "head").read_bytes() == head  # reading repairs nothing
    log.append([draft("next")])
    assert numbers(log) == [1, 2, 3, "a", "b", "next"]


def test_a_batch_that_is_taken_in_brings_its_checkpoint(tmp_path: Path) -> None:
    log = filled(tmp_path, 3, every=4)
    head = (tmp_path / "head").read_bytes()
    after = log.append([draft(4)])
    (tmp_path / "head").write_bytes(head)

    assert log.state() == after.state
    log.append([draft(5)])
    assert json.loads((tmp_path / "head").read_text())["checkpoint"] == sum(map(len, lines(tmp_path)[:4]))
    assert log.verify().findings == ()


def lines_of_four(control: Path) -> list[bytes]:
    filled(control, 4)
    return lines(control)


def renamed(kind: str, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return f"{kind}_renamed", {"n": data["n"] + 100}


LATER = Schema(2, {1: renamed})


def test_older_events_are_read_through_upcasters_and_older_checkpoints_not_at_all(tmp_path: Path) -> None:
    filled(tmp_path, 5, every=2)
    log = Log(tmp_path, TallyFolding(), schema=LATER, checkpoint_every=4)

    expected = Tally()
    for n in range(1, 6):
        expected = TallyFolding().step(expected, _noted("noted_renamed", n + 100))
    assert log.state() == expected
    assert [(record.v, record.type, record.data["n"]) for record in log.records(limit=2)] == [
        (2, "noted_renamed", 101),
        (2, "noted_renamed", 102),
    ]
    assert log.verify().findings == ()
    after = log.append([draft(6, kind="noted_renamed")]).state
    assert log.state() == after
    assert b'"type":"checkpoint"' in lines(tmp_path)[-1]
    assert log.verify().findings == ()


def _noted(kind: str, n: int) -> Record:
    return Record(1, 0, "", None, {}, 2, GENESIS, kind, {"n": n})


@pytest.mark.parametrize("every", [1, 1000])
def test_a_log_of_a_newer_version_is_refused(tmp_path: Path, every: int) -> None:
    Log(tmp_path, TallyFolding(), schema=LATER, checkpoint_every=every).append([draft()])
    log = open_log(tmp_path)

    for attempt in (log.state, log.verify, lambda: list(log.records()), lambda: log.append([draft()])):
        with pytest.raises(UserError, match="newer version"):
            attempt()
