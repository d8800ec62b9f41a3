from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from storage.log.children import at_call, deaths, fail
from storage.log.tally import ACTOR, Tally, draft, filled, lines, numbers, open_log, put_lines, repair_draft
from verdigris.core.errors import StorageError
from verdigris.storage.log.log import Log, Repaired


def edit(line: bytes) -> bytes:
    return line.replace(b'"n":', b'"m":')


def damaged(control: Path) -> Log[Tally]:
    """Ten events with a checkpoint after the sixth; the fifth was edited."""
    log = filled(control, 10, every=6)
    text = lines(control)
    put_lines(control, [*text[:4], edit(text[4]), *text[5:]])
    return log


def test_a_whole_log_is_left_alone(tmp_path: Path) -> None:
    log = filled(tmp_path, 5)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    assert log.repair(repair_draft("no reason")) == Repaired(5, 0, None)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_is_whole_is_kept_and_the_damaged_log_put_aside(tmp_path: Path) -> None:
    log = damaged(tmp_path)
    bad = (tmp_path / "events.jsonl").read_bytes()

    assert log.repair(repair_draft("disk trouble")) == Repaired(4, 7, "events.damaged-1.jsonl")

    assert (tmp_path / "events.damaged-1.jsonl").read_bytes() == bad
    assert log.verify().findings == ()
    *kept, last = log.records()
    assert [record.data["n"] for record in kept] == [1, 2, 3, 4]
    assert (last.seq, last.type, last.worktree, last.actor) == (5, "log_repaired", "main", ACTOR)
    assert last.data == {"kept": 4, "lost": 7, "why": "disk trouble", "damaged": "events.damaged-1.jsonl"}
    log.append([draft(5)])
    assert log.state().events == 6
    names = {"events.damaged-1.jsonl", "events.jsonl", "head", "lock"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_the_next_damaged_log_gets_the_next_name(tmp_path: Path) -> None:
    damaged(tmp_path).repair(repair_draft("first"))
    put_lines(tmp_path, lines(tmp_path)[:2])

    assert open_log(tmp_path).repair(repair_draft("second")) == Repaired(2, 3, "events.damaged-2.jsonl")
    assert (tmp_path / "events.damaged-1.jsonl").exists()


def unlink_head(at: Path) -> None:
    (at / "head").unlink()


def unlink_log(at: Path) -> None:
    (at / "events.jsonl").unlink()


def rewrite(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    return lambda at: put_lines(at, change(lines(at)))


@pytest.mark.parametrize(
    ("damage", "kept", "lost"),
    [
        (rewrite(lambda t: [*t[:4], *t[5:]]), 4, 7),
        (rewrite(lambda t: [*t[:4], b"junk\n", *t[5:]]), 4, 7),
        (rewrite(lambda t: [edit(t[0]), *t[1:]]), 0, 11),
        (rewrite(lambda t: t[:3]), 3, 8),
        (rewrite(lambda t: [*t[:3], t[3][:9]]), 3, 8),
        (rewrite(lambda t: [*t[:10], edit(t[10])]), 10, 1),
        (rewrite(lambda t: [*t, b"junk\n"]), 11, 0),
        (rewrite(lambda t: [*t[:5], edit(t[5]), *t[6:]]), 5, 6),
        (rewrite(lambda t: [*t[:6], t[6].replace(b'"events":6', b'"events":7'), *t[7:]]), 5, 6),
        (unlink_head, 11, 0),
        (unlink_log, 0, 11),
    ],
)
def test_the_longest_run_of_whole_batches_is_kept(
    tmp_path: Path, damage: Callable[[Path], None], kept: int, lost: int
) -> None:
    log = filled(tmp_path, 10, every=6)
    damage(tmp_path)
    assert not log.verify().whole

    repaired = log.repair(repair_draft("tried"))

    assert (repaired.kept, repaired.lost) == (kept, lost)
    assert log.verify().findings == ()
    assert log.append([draft()]).records[0].seq == kept + 2
    assert log.verify().findings == ()


def test_a_batch_is_kept_whole_or_not_at_all(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    log.append([draft(3), draft(4), draft(5)])
    log.append([draft(6)])
    text = lines(tmp_path)
    put_lines(tmp_path, [*text[:3], edit(text[3]), *text[4:]])

    assert log.repair(repair_draft("tried")).kept == 2


def test_a_repair_killed_at_any_step_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    control, kept = tmp_path / "tdd", tmp_path / "kept"
    log = damaged(control)
    shutil.copytree(control, kept)
    bad = (control / "events.jsonl").read_bytes()
    findings = log.verify().findings
    seen = set()

    def restore() -> None:
        shutil.rmtree(control)
        shutil.copytree(kept, control)

    for number in deaths(lambda: log.repair(repair_draft("tried")), restore):
        now = log.verify().findings
        assert now in {findings, ()}, f"killed at call {number}"
        seen.add(now)
        assert bad in [path.read_bytes() for path in control.glob("events*.jsonl")]
        if now:
            assert log.repair(repair_draft("again")).damaged == "events.damaged-1.jsonl"
        assert log.state().events == 5
        assert log.append([draft(5)]).records[0].seq == 6
        assert log.verify().findings == ()
        assert (control / "events.damaged-1.jsonl").read_bytes() == bad
        assert json.loads((control / "head").read_text())["seq"] == len(lines(control))
        assert not (control / "head.repaired").exists()
    assert seen == {findings, ()}


def test_a_repair_on_a_disk_that_fails_leaves_the_old_log_or_the_new_one(tmp_path: Path) -> None:
    log = damaged(tmp_path)
    findings = log.verify().findings
    number = 0
    while findings == log.verify().findings:
        number += 1
        with at_call(number, fail), suppress(StorageError):
            log.repair(repair_draft("tried"))
    assert number > 5
    assert log.verify().findings == ()
    assert numbers(log, limit=4) == [1, 2, 3, 4]
