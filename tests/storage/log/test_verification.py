from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.log.tally import Tally, TallyFolding, draft, filled, lines, open_log, put_lines
from verdigris.core.records import CHECKPOINT, GENESIS, SCHEMA, Record, Schema
from verdigris.storage.log.light import digest
from verdigris.storage.log.lines import EMPTY, LogHead, encode, head_after, parse, render
from verdigris.storage.log.log import Log, chain_batch
from verdigris.storage.log.verification import ChainScan, FoldReplay, LogFault, Verification


def found(log: Log[Tally]) -> str:
    return ", ".join(f"{finding.seq} {finding.kind}" for finding in log.verify().findings)


def edited(line: bytes, **change: Any) -> bytes:
    return encode({**json.loads(line), **change}) + b"\n"


def rechained(text: list[bytes]) -> list[bytes]:
    """The same events with hashes that fit, as a forger would write them."""
    done: list[bytes] = []
    for line in text:
        done.append(edited(line, prev=digest(done[-1].removesuffix(b"\n"))) if done else line)
    return done


def tamper(control: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    put_lines(control, change(lines(control)))


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_an_untouched_log_is_whole(tmp_path: Path, every: int) -> None:
    log = filled(tmp_path, 10, every)

    verification = log.verify()

    assert verification.whole
    assert verification.findings == ()
    assert verification.events == len(lines(tmp_path))


CASES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "edited": (lambda t: [*t[:4], edited(t[4], n=99), *t[5:]], "5 edited"),
    "first edited": (lambda t: [edited(t[0], n=99), *t[1:]], "1 edited"),
    "last edited": (lambda t: [*t[:9], edited(t[9], n=99)], "10 edited"),
    "two edited": (
        lambda t: [t[0], edited(t[1], n=0), *t[2:7], edited(t[7], n=0), *t[8:]],
        "2 edited, 8 edited",
    ),
    "two neighbours edited": (
        lambda t: [*t[:3], edited(t[3], n=0), edited(t[4], n=0), *t[5:]],
        "4 edited, 5 edited",
    ),
    "number changed up": (lambda t: [*t[:4], edited(t[4], seq=500), *t[5:]], "5 edited"),
    "number changed down": (lambda t: [*t[:4], edited(t[4], seq=2), *t[5:]], "5 edited"),
    "chain of the first": (lambda t: [edited(t[0], prev="f" * 64), *t[1:]], "1 edited"),
    "unreadable": (lambda t: [*t[:4], b"\0" * 30 + b"\n", *t[5:]], "5 unreadable"),
    "three unreadable": (
        lambda t: [*t[:4], b"x\n", b"x\n", b"x\n", *t[7:]],
        "5 unreadable, 6 unreadable, 7 unreadable",
    ),
    "unreadable slipped in": (lambda t: [*t[:4], b"\n", *t[4:]], "5 unreadable"),
    "all unreadable": (lambda t: [b"junk\n"], "1 unreadable, 2 cut-off"),
    "removed": (lambda t: [*t[:4], *t[5:]], "5 removed"),
    "first removed": (lambda t: t[1:], "1 removed"),
    "last but one removed": (lambda t: [*t[:8], t[9]], "9 removed"),
    "several removed": (lambda t: [*t[:2], *t[5:]], "3 removed"),
    "removed here and there": (lambda t: [t[0], t[2], t[4], *t[6:]], "2 removed, 4 removed, 6 removed"),
    "removed and edited": (lambda t: [*t[:2], *t[3:6], edited(t[6], n=0), *t[7:]], "3 removed, 7 edited"),
    "swapped": (lambda t: [*t[:3], t[4], t[3], *t[5:]], "5 reordered"),
    "first swapped": (lambda t: [t[1], t[0], *t[2:]], "2 reordered"),
    "last swapped": (lambda t: [*t[:8], t[9], t[8]], "10 reordered"),
    "swapped far apart": (lambda t: [t[0], t[7], *t[2:7], t[1], *t[8:]], "2 reordered, 8 reordered"),
    "moved back": (lambda t: [*t[:2], *t[5:8], *t[2:5], *t[8:]], "3 reordered, 4 reordered, 5 reordered"),
    "moved to the end": (lambda t: [*t[:3], *t[4:], t[3]], "4 reordered"),
    "doubled": (lambda t: [*t[:5], t[4], *t[5:]], "5 duplicated"),
    "copied to the end": (lambda t: [*t, t[4]], "5 duplicated"),
    "copied ahead": (lambda t: [*t[:2], t[6], *t[2:]], "7 duplicated"),
    "inserted": (lambda t: [*t[:5], edited(t[4], n=77), *t[5:]], "5 inserted"),
    "inserted in the chain": (lambda t: [*t[:4], edited(t[4], n=77), *t[4:]], "5 inserted"),
    "inserted from nowhere": (
        lambda t: [*t[:5], edited(t[4], seq=9000, prev="f" * 64), *t[5:]],
        "9000 inserted",
    ),
    "cut off": (lambda t: t[:6], "7 cut-off"),
    "cut off in a line": (lambda t: [*t[:6], t[6][:30]], "7 cut-off"),
    "emptied": (lambda t: [], "1 cut-off"),
    "forged to the end": (lambda t: rechained([*t[:4], edited(t[4], n=99), *t[5:]]), "10 edited"),
}


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_tampering_is_found_and_named(tmp_path: Path, name: str) -> None:
    change, expected = CASES[name]
    log = filled(tmp_path, 10)

    tamper(tmp_path, change)

    assert found(log) == expected
    assert not log.verify().whole


def test_a_range_that_is_missing_is_one_finding_that_names_both_ends(tmp_path: Path) -> None:
    log = filled(tmp_path, 10)
    tamper(tmp_path, lambda text: [*text[:2], *text[5:]])

    assert [finding.message for finding in log.verify().findings] == ["events 3 to 5 are missing"]


def test_a_torn_end_is_named_and_is_no_damage(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    tamper(tmp_path, lambda text: [*text, b'{"seq":4'])

    assert found(log) == "4 torn"
    assert log.verify().whole


def test_a_batch_that_was_not_written_whole_is_torn(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    log.append([draft(4), draft(5)])
    (tmp_path / "head").write_bytes(head)
    tamper(tmp_path, lambda text: text[:-1])

    assert found(log) == "4 torn"


def test_a_lost_log_is_cut_off_from_the_first_event(tmp_path: Path) -> None:
    log = filled(tmp_path, 3)
    (tmp_path / "events.jsonl").unlink()

    assert found(log) == "1 cut-off"


def change_head(**change: Any) -> Callable[[Path], None]:
    def changed(control: Path) -> None:
        head = json.loads((control / "head").read_text())
        (control / "head").write_text(json.dumps({**head, **change}))

    return changed


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda at: (at / "head").unlink(), "11 head"),
        (lambda at: (at / "head").write_bytes(b""), "11 head"),
        (change_head(hash="f" * 64), "11 edited"),
        (change_head(seq=12), "12 cut-off"),
        (change_head(seq=9), "9 edited, 10 head"),
        (change_head(size=3, checkpoint=0), "11 head"),
        (change_head(checkpoint=0), "11 head"),
        (lambda at: (at / "head").write_bytes(render(EMPTY)), "1 head"),
    ],
)
def test_a_head_that_is_not_the_logs_is_found(
    tmp_path: Path, change: Callable[[Path], None], expected: str
) -> None:
    log = filled(tmp_path, 10, every=8)
    change(tmp_path)

    assert found(log) == expected


def test_an_unreadable_head_without_any_log_is_found(tmp_path: Path) -> None:
    (tmp_path / "head").write_bytes(b"junk")

    assert found(open_log(tmp_path)) == "0 head"


def test_each_checkpoint_is_compared_with_the_fold_from_the_start(tmp_path: Path) -> None:
    log = filled(tmp_path, 9, every=3)
    assert [json.loads(line)["type"] for line in lines(tmp_path)].count("checkpoint") == 3
    text = lines(tmp_path)
    forged = rechained([*text[:3], edited(text[3], state={"events": 3, "trail": 1}), *text[4:]])
    put_lines(tmp_path, forged)
    head = parse((tmp_path / "head").read_bytes())
    size = sum(map(len, forged))
    (tmp_path / "head").write_bytes(
        render(LogHead(head.seq, digest(forged[-1].removesuffix(b"\n")), size, size - len(forged[-1])))
    )

    assert found(log) == "4 checkpoint"


def test_checkpoints_after_damage_are_not_blamed_for_it(tmp_path: Path) -> None:
    log = filled(tmp_path, 9, every=3)
    tamper(tmp_path, lambda text: [text[0], edited(text[1], n=5), *text[2:]])

    assert found(log) == "2 edited"


def test_an_event_that_cannot_be_folded_is_found(tmp_path: Path) -> None:
    class Picky(TallyFolding):
        def step(self, state: Tally, record: Record) -> Tally:
            if record.data["n"] == 3:
                raise KeyError("n")
            return super().step(state, record)

    filled(tmp_path, 5)

    assert found(Log(tmp_path, Picky())) == "3 unreadable"


def test_a_million_numbers_are_no_reason_to_take_a_million_bytes(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    far = LogHead(10**15, "f" * 64, 0, 0)
    data, links = chain_batch(far, [draft(), draft()], 0, 1)
    tamper(tmp_path, lambda text: [*text, data])

    assert head_after(far, links).seq == 10**15 + 2
    assert "3 removed" in found(log)


def test_a_writer_does_not_wait_for_a_verification(tmp_path: Path) -> None:
    class Appending(TallyFolding):
        """Appends from within the verification: would wait for ever if the log were locked."""

        def step(self, state: Tally, record: Record) -> Tally:
            if record.seq == 2 and not (tmp_path / "done").exists():
                (tmp_path / "done").touch()
                other.append([draft("meanwhile")])
            return super().step(state, record)

    other = filled(tmp_path, 3)

    assert Log(tmp_path, Appending()).verify().events == 3
    assert other.state().events == 4


def test_a_log_with_nothing_but_a_torn_end_is_whole() -> None:
    torn, removed = LogFault(4, "torn", ""), LogFault(2, "removed", "")

    assert Verification((), 3).whole
    assert Verification((torn,), 3).whole
    assert not Verification((removed, torn), 3).whole


def event(n: int) -> Record:
    return Record(n, 0, "main", None, {}, 1, GENESIS, "noted", {"n": n})


def checkpoint(state: Tally, v: int = 1) -> Record:
    data = {"state": TallyFolding().dump(state)}
    return Record(9, 0, "main", None, {}, v, GENESIS, CHECKPOINT, data)


AFTER_ONE = TallyFolding().step(Tally(), event(1))
AFTER_TWO = TallyFolding().step(AFTER_ONE, event(2))


def test_a_checkpoint_is_right_if_the_events_fold_to_it() -> None:
    replay = FoldReplay(TallyFolding(), SCHEMA)

    assert replay.objection(event(1)) is None
    assert replay.objection(checkpoint(AFTER_ONE)) is None
    assert replay.objection(event(2)) is None
    assert "fold" in (replay.objection(checkpoint(AFTER_ONE)) or "")
    assert replay.objection(checkpoint(AFTER_TWO)) is None


def test_after_damage_the_next_checkpoint_is_taken_on_trust() -> None:
    replay = FoldReplay(TallyFolding(), SCHEMA)
    replay.lose()

    assert replay.objection(event(7)) is None
    assert replay.objection(checkpoint(AFTER_ONE)) is None
    assert replay.objection(event(2)) is None
    assert replay.objection(checkpoint(AFTER_TWO)) is None
    assert replay.objection(checkpoint(AFTER_ONE)) is not None


def test_a_checkpoint_of_an_older_version_is_passed_over() -> None:
    replay = FoldReplay(TallyFolding(), Schema(1, {}))

    assert replay.objection(checkpoint(AFTER_TWO, v=0)) is None


SIZE = 12
_, LINKS = chain_batch(EMPTY, [draft(n) for n in range(SIZE)], 0, 1)


def scan(order: list[int]) -> ChainScan:
    """Read the events with these indices, in this order, up to the head of the whole."""
    seen = ChainScan()
    for index in order:
        list(seen.see(LINKS[index]))
    list(seen.end(SIZE))
    return seen


def missing(seen: ChainScan) -> set[int]:
    return {n for first, last in seen._missing for n in range(first, last + 1)}


@given(st.lists(st.integers(0, SIZE - 1), max_size=20))
@settings(max_examples=400)
def test_whatever_was_done_to_the_lines_is_found_and_no_event_that_is_there_is_called_missing(
    order: list[int],
) -> None:
    seen = scan(order)

    assert bool(seen.findings) == (order != list(range(SIZE)))
    assert missing(seen) == set(range(1, SIZE + 1)) - {index + 1 for index in order}
    assert "edited" not in {finding.kind for finding in seen.findings}


@given(st.sets(st.integers(0, SIZE - 1), min_size=1))
def test_lines_taken_out_are_removed_or_cut_off_and_nothing_else(gone: set[int]) -> None:
    seen = scan([index for index in range(SIZE) if index not in gone])

    assert {finding.kind for finding in seen.findings} <= {"removed", "cut-off"}
    assert missing(seen) == {index + 1 for index in gone}


def test_the_chain_holds_what_it_accepted() -> None:
    seen = scan([0, 1, 3, 4])

    assert seen.count == 4
    assert seen.holds(4, LINKS[3].hash)
    assert not seen.holds(4, LINKS[4].hash)
    assert not seen.holds(3, LINKS[2].hash)
