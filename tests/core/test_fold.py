from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from verdigris.core import events as e
from verdigris.core.events import Event, encode
from verdigris.core.fold import REMEMBERED_GROUNDS, StateFolding, fold
from verdigris.core.records import Record
from verdigris.core.report import Status
from verdigris.core.state import Configuration, Phase, State, WorktreeState
from verdigris.core.turn_events import REMEMBERED_REDS


def records(*events: Event, worktree: str = "main") -> list[Record]:
    encoded = (encode(event) for event in events)
    return [
        Record(n, 0, worktree, "main", {}, 1, "", kind, json.loads(json.dumps(data)))
        for n, (kind, data) in enumerate(encoded, 1)
    ]


def after(*events: Event) -> WorktreeState:
    return fold(records(*events)).of("main")


def run(test_id: str = "t.py::a", status: Status = Status.FAIL, red: str | None = "valid") -> e.TestRun:
    return e.TestRun(
        test_id=test_id,
        test_id_source="native",
        status=status,
        command="pytest",
        duration_ms=1,
        tree="g",
        native_id=test_id,
        red=red,
    )


GROUND = e.Ground(tree="g", commit="c", on="main", why="init")
OPENED = e.TurnOpened(turn="t1", tree="g")
CLAIM = e.EditClaim(test_id="t.py::a", edit_target="src/a.py", red=2)
ASIDE = e.LayingAside(aside="a1", paths=("src/a.py",), edited="x", start="g", why="strikes")
ACCEPTED = e.Accepted(test_id="t.py::a", red=2, before="g", after="n", paths=("src/a.py",), green=5)


def settled(verdict: str = "still-red", *struck: str) -> e.Settled:
    return e.Settled(turn="t1", verdict=verdict, tree="x", struck=struck)


def test_a_worktree_that_was_never_seen_is_red() -> None:
    assert State().of("elsewhere").phase is Phase.RED


def test_worktrees_do_not_mix() -> None:
    state = fold([*records(GROUND, run(), OPENED, CLAIM), *records(GROUND, worktree="other")])
    assert (state.of("main").phase, state.of("other").phase) == (Phase.GREEN, Phase.RED)


def test_a_failure_is_remembered_until_it_passes() -> None:
    assert after(run()).reds["t.py::a"].valid
    assert after(run(), run(status=Status.PASS, red=None)).reds == {}
    assert after(run(), run(status=Status.SKIP, red=None)).reds == {}


def test_a_claim_opens_green_and_gathers_its_targets() -> None:
    more = e.EditClaim(test_id="t.py::a", edit_target="src/b.py", red=2, implied=True)
    state = after(GROUND, run(), OPENED, CLAIM, more)
    assert state.phase is Phase.GREEN
    assert state.claims["t.py::a"].targets == ("src/a.py", "src/b.py")
    assert not state.claims["t.py::a"].implied


def test_acceptance_of_the_last_claim_closes_the_turn_on_new_ground() -> None:
    state = after(GROUND, run(), OPENED, CLAIM, settled("accepted"), ACCEPTED)
    assert (state.phase, state.ground, state.turn, state.claims) == (Phase.RED, "n", None, {})


def test_acceptance_of_one_of_two_leaves_the_turn_open() -> None:
    second = e.EditClaim(test_id="t.py::b", edit_target="src/b.py", red=3)
    state = after(GROUND, run(), run("t.py::b"), OPENED, CLAIM, second, ACCEPTED)
    assert (state.phase, set(state.claims)) == (Phase.GREEN, {"t.py::b"})


def test_strikes_add_up_and_end_with_laying_aside() -> None:
    struck = settled("still-red", "t.py::a")
    assert after(GROUND, run(), OPENED, CLAIM, struck, struck).strikes == {"t.py::a": 2}
    state = after(GROUND, run(), OPENED, CLAIM, struck, struck, ASIDE, e.Reverted(aside="a1"))
    assert (state.phase, state.strikes, state.turn) == (Phase.RED, {}, None)
    assert state.aside["a1"].paths == ("src/a.py",)


def test_an_intent_is_open_until_its_outcome() -> None:
    begun = after(GROUND, run(), OPENED, CLAIM, ASIDE)
    assert begun.intent is not None
    assert begun.intent.kind == "laying_aside"
    assert after(GROUND, run(), OPENED, CLAIM, ASIDE, e.Reverted(aside="a1")).intent is None


def test_what_is_restored_is_no_longer_aside() -> None:
    restoring = e.Restoring(aside="a1", paths=("src/a.py",), before="g", after="x")
    assert after(ASIDE, e.Reverted(aside="a1"), restoring, e.Restored(aside="a1")).aside == {}


def test_a_suspended_turn_starts_anew_and_resumes_with_what_is_still_red() -> None:
    second = e.EditClaim(test_id="t.py::b", edit_target="src/b.py", red=3)
    opened = (GROUND, run(), run("t.py::b"), OPENED, CLAIM, second)
    suspended = e.Suspended(turn="t1", tree="g2", commit="c2", on="main")
    state = after(*opened, suspended)
    assert state.turn is not None
    assert (state.turn.suspended, state.turn.tree) == (True, "g2")
    resumed = after(*opened, suspended, e.Resumed(turn="t1", reds={"t.py::a": 9}))
    assert resumed.turn is not None
    assert not resumed.turn.suspended
    assert {i: c.red for i, c in resumed.claims.items()} == {"t.py::a": 9}


def test_off_ends_a_turn_and_on_takes_the_tree_as_ground() -> None:
    off = after(GROUND, run(), OPENED, CLAIM, e.SwitchedOff(why="spike"))
    assert (off.phase, off.turn, off.off_why) == (Phase.OFF, None, "spike")
    on = after(GROUND, e.SwitchedOff(why="spike"), e.SwitchedOn(tree="n"))
    assert (on.phase, on.ground) == (Phase.RED, "n")


def test_a_refactor_strikes_only_when_something_changed() -> None:
    begun = e.RefactorBegun(tree="g", record="r")
    ended = e.RefactorEnded(verdict="regressed", tree="x")
    state = after(GROUND, begun, ended, ended)
    assert state.refactor is not None
    assert state.refactor.strikes == 1
    closed = after(GROUND, begun, e.RefactorEnded(verdict="accepted", tree="y"))
    assert (closed.phase, closed.ground) == (Phase.RED, "y")


def test_a_suite_with_thousands_of_failures_does_not_bloat_the_state() -> None:
    state = after(*(run(f"t.py::t{n}") for n in range(REMEMBERED_REDS + 50)))
    assert len(state.reds) == REMEMBERED_REDS
    assert f"t.py::t{REMEMBERED_REDS + 49}" in state.reds


EVENTS = st.sampled_from(
    [
        GROUND,
        run(),
        run(status=Status.PASS, red=None),
        run("t.py::b", red="import"),
        OPENED,
        CLAIM,
        settled("still-red", "t.py::a"),
        ACCEPTED,
        ASIDE,
        e.Reverted(aside="a1"),
        e.SuiteRun(tree="g", command="p", record="r", passed=1, failed=0, skipped=0, duration_ms=1),
        e.TestBug(bug="b1", places=("t.py:1",), why="w", tree="g"),
        e.TestBugClosed(bug="b1", test_id="t.py::a"),
        e.Violation(path="t.py", what="changed"),
        e.Suspended(turn="t1", tree="g2", commit=None, on=None),
        e.Resumed(turn="t1", reds={"t.py::a": 3}),
        e.RefactorBegun(tree="g", record="r", uncovered=True),
        e.RefactorEnded(verdict="regressed", tree="x"),
        e.SwitchedOff(why="w"),
        e.SwitchedOn(tree="n"),
        e.Configured(tdd_yaml="d", settings={"strikes": 3}, classes=[["test", "x"]]),
        e.Formatting(paths=("src/a.py",), tree="x"),
        e.Formatted(tree="x"),
    ]
)


@given(st.lists(EVENTS, max_size=30), st.integers(0, 30))
def test_a_fold_from_a_checkpoint_equals_the_fold_from_the_start(events: list[Event], at: int) -> None:
    folding = StateFolding()
    whole = records(*events)
    checkpoint = json.loads(json.dumps(folding.dump(fold(whole[:at]))))
    assert fold(whole[at:], folding.load(checkpoint)) == fold(whole)


def test_the_grounds_of_a_commit_are_remembered_when_head_comes_and_leaves() -> None:
    def moved(commit: str, tree: str) -> e.Ground:
        return e.Ground(tree=tree, commit=commit, on="main", why="HEAD moved")

    accepting = (run(), OPENED, CLAIM, ACCEPTED)
    seen = e.HeadSeen(commit="d", on="main")
    assert after(GROUND, *accepting, seen).grounds == {"c": ("g", "n"), "d": ("n",)}
    state = after(GROUND, seen, moved("c", "h"), moved("d", "g"))
    assert list(state.grounds.items()) == [("c", ("g", "h")), ("d", ("g",))]
    many = (moved(f"c{n}", f"g{n}") for n in range(REMEMBERED_GROUNDS + 10))
    assert len(after(GROUND, *many).grounds) == REMEMBERED_GROUNDS
    again = (moved("c", f"g{n}") for n in range(10))
    assert after(GROUND, *again).grounds == {"c": ("g6", "g7", "g8", "g9")}


def test_what_is_no_ground_while_off_is_not_remembered() -> None:
    seen = e.HeadSeen(commit="d", on="main")
    assert after(GROUND, e.SwitchedOff(why="x"), seen).grounds == {}


def test_each_worktree_goes_by_its_own_configuration() -> None:
    first, second = (e.Configured(tdd_yaml=name, settings={}, classes=[]) for name in ("one", "two"))
    state = fold([*records(first), *records(second, worktree="other")])
    assert [state.of(name).configuration for name in ("main", "other")] == [
        Configuration("one", {}, []),
        Configuration("two", {}, []),
    ]
    assert state.configuration == Configuration("two", {}, [])
    none = fold(records(e.Unconfigured()), state)
    assert {none.configuration, none.of("main").configuration, none.of("other").configuration} == {None}


def test_a_refused_refactor_is_known_until_it_ends_and_a_log_without_the_way_out_folds() -> None:
    begun = e.RefactorBegun(tree="g", record="r")
    refused = e.RefactorEnded(verdict="regressed", tree="t", reasons=("why", "more"), next="`tdd x`")
    known = after(begun, refused).refactor
    assert known is not None
    assert known.refused is not None
    assert (known.refused.verdict, known.refused.reasons, known.refused.next) == (
        "regressed",
        ("why", "more"),
        "`tdd x`",
    )
    assert not known.refused.outdated
    for event in (run(), e.Revised(names=("t.py::a",), why="gone")):
        later = after(begun, refused, event).refactor
        assert later is not None
        assert later.refused is not None
        assert later.refused.outdated
    assert after(begun, refused, e.RefactorEnded(verdict="accepted", tree="t")).refactor is None
