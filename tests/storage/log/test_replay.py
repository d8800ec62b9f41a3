from __future__ import annotations

from storage.log.tally import Tally, TallyFolding
from verdigris.core.records import CHECKPOINT, GENESIS, SCHEMA, Record, Schema
from verdigris.storage.log.verification import FoldReplay


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
