from __future__ import annotations

import json
from pathlib import Path

from storage.log.tally import draft, lines, open_log


def kinds(control: Path) -> str:
    """One letter per line: n(oted) or c(heckpoint)."""
    return "".join(json.loads(line)["type"][0] for line in lines(control))


def more(control: Path) -> list[int]:
    return [json.loads(line).get("more", 0) for line in lines(control)]


def test_a_checkpoint_closes_the_batch_that_makes_it_due(tmp_path: Path) -> None:
    log = open_log(tmp_path, every=3)
    log.append([draft()])
    log.append([draft()])
    state = log.append([draft()]).state
    log.append([draft()])

    assert kinds(tmp_path) == "nnncn"
    assert more(tmp_path) == [0, 0, 1, 0, 0]
    assert json.loads(lines(tmp_path)[3])["state"] == {"events": 3, "trail": state.trail}


def test_a_batch_has_at_most_one_checkpoint_and_it_comes_last(tmp_path: Path) -> None:
    log = open_log(tmp_path, every=3)
    appended = log.append([draft(n) for n in range(8)])
    log.append([draft()])

    assert kinds(tmp_path) == "nnnnnnnncn"
    assert more(tmp_path) == [8, 7, 6, 5, 4, 3, 2, 1, 0, 0]
    assert len(appended.records) == 8


def test_large_events_are_followed_by_a_checkpoint(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append([draft("x" * 30_000)])
    log.append([draft("x" * 30_000)])
    log.append([draft("x" * 10_000)])
    log.append([draft("x" * 30_000)])
    log.append([draft("x" * 70_000)])

    assert kinds(tmp_path) == "nnncnnc"
    assert log.verify().findings == ()
