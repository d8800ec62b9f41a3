"""`next:` never names a move that would be refused: every reachable state of a turn is walked, and what it
says is carried out until the turn is accepted or begins anew.

The world is small and finite: one source file, two tests that can be written and deleted, one older test that
can be weakened, and git, which can move HEAD or stand in the middle of a merge.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import pytest

from verdigris.core.actions import Allow, ClaimTest, Decision, Deny, Do, Target, Unclaimed
from verdigris.core.events import (
    Event,
    Ground,
    LayingAside,
    RedsEnded,
    RefactorBegun,
    RefactorEnded,
    Restored,
    Resumed,
    Reverted,
    Suspended,
    SwitchedOff,
    SwitchedOn,
    TestBug,
    TestBugClosed,
    TestRun,
)
from verdigris.core.fold import advance
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.policy.claims import deny_stale
from verdigris.core.policy.next_move import (
    TreeFacts,
    ended_reds,
    implied_claim,
    newest,
    next_move,
    without_parents,
)
from verdigris.core.report import CollectError, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.settings import Settings
from verdigris.core.state import Phase, Red, Turn, WorktreeState
from verdigris.core.turn_events import (
    OracleFacts,
    accepted_events,
    claim_events,
    is_struck_out,
    next_aside,
    settled_event,
)
from verdigris.core.verdict import Kind, Verdict

SOURCE, OLD = "src/a.py", "tests/test_old.py"
TESTS = {"tests/test_a.py::test_a": "tests/test_a.py", "tests/test_b.py::test_b": "tests/test_b.py"}
A, B = TESTS
BASE, RIGHT, WRONG, ABSENT, WRITTEN, REVISED, WEAK = (
    "base",
    "right",
    "wrong",
    "absent",
    "written",
    "revised",
    "weak",
)
ORACLE = (OLD, *TESTS.values())
MOST_MOVES = 12
SETTINGS = Settings()
START = WorktreeState(ground="base written absent absent")

Files = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class World:
    files: Files = ((SOURCE, BASE), (OLD, WRITTEN), (TESTS[A], ABSENT), (TESTS[B], ABSENT))
    state: WorktreeState = START
    merging: bool = False
    seq: int = 0
    passed: frozenset[str] = frozenset()
    """Tests whose last run passed."""

    @cached_property
    def tree(self) -> str:
        return " ".join([text for _, text in self.files])

    def text(self, path: str) -> str:
        return dict(self.files)[path]

    def with_files(self, files: Files) -> World:
        return replace(self, files=files)

    def wrote(self, path: str, text: str) -> World:
        return self.with_files(tuple((p, text if p == path else t) for p, t in self.files))

    def laid(self, tree: str, paths: tuple[str, ...]) -> World:
        pairs = zip(self.files, tree.split(), strict=True)
        return self.with_files(tuple((p, there if p in paths else t) for (p, t), there in pairs))

    def differing(self, old: str, *paths: str) -> tuple[str, ...]:
        if old == self.tree:
            return ()
        pairs = zip(self.files, old.split(), strict=True)
        return tuple(p for (p, t), there in pairs if there != t and p in paths)

    def told(self, *events: Event) -> World:
        state = self.state
        for seq, event in enumerate(events, self.seq + 1):
            state = advance(state, event, seq)
        return replace(self, state=state, seq=self.seq + len(events))

    @property
    def git(self) -> str | None:
        return "merge" if self.merging else None

    def key(self) -> object:
        """What a decision can depend on: worlds that agree in it are walked once."""
        s = self.state
        order = sorted(s.reds.values(), key=lambda red: red.seq)
        return (
            self.files,
            self.merging,
            self.passed,
            s.phase,
            s.ground and s.ground.split()[0],
            tuple((red.test_id, self.differing(red.tree, SOURCE, *ORACLE) != ()) for red in order),
            tuple(s.claims),
            s.turn and (s.turn.tree, s.turn.suspended, s.turn.judged == self.tree),
            tuple(sorted(s.strikes.items())),
            tuple((a.edited.split()[0], a.back_at_claim) for a in s.aside.values()),
            tuple((bug.tests, bug.tree == self.tree) for bug in s.test_bugs.values()),
            s.refactor and (self.differing(s.refactor.tree, SOURCE, *ORACLE) != (), s.refactor.strikes),
        )


class Refused(Exception):
    """A move that the policy, or the world, does not allow."""


def operation(world: World) -> World:
    """As every command begins: reds whose test is gone end."""
    gone = tuple(
        i for i in world.state.reds if world.text(TESTS[i]) == ABSENT and i not in world.state.claims
    )
    return world.told(RedsEnded(test_ids=gone)) if gone else world


# -- what can be done, through the policy ---------------------------------------------------------------


def permitted(decision: Decision) -> None:
    if isinstance(decision, Deny):
        raise Refused(f"{decision.rule}: {decision.reason} next: {decision.next}")


def verb(world: World, name: str, unclaimed: tuple[Unclaimed, ...] = ()) -> None:
    permitted(decide(world.state, Do(name, unclaimed=unclaimed), SETTINGS, in_progress=world.git))  # type: ignore[arg-type]


def unclaimed(world: World) -> tuple[Unclaimed, ...]:
    edited = world.differing(world.state.ground or world.tree, SOURCE)
    return tuple(Unclaimed(path, 1, "more than a stub") for path in edited)


def observed(world: World, test_id: str) -> ClaimTest:
    state, target = world.state, (Target(".", frozenset({PathClass.SOURCE})),)
    turn, red = state.turn, state.reds.get(test_id)
    if turn is not None and test_id in state.claims:
        return ClaimTest(test_id, target, drift=world.differing(turn.tree, *ORACLE))
    if red is None:
        return ClaimTest(test_id, target, written=world.text(TESTS[test_id]) != ABSENT)
    if turn is not None:
        moved, drift = world.differing(red.tree, *ORACLE), world.differing(turn.tree, *ORACLE)
        return ClaimTest(test_id, target, moved=moved, drift=drift)
    lost = world.text(OLD) == WEAK and OLD not in state.revised
    return ClaimTest(
        test_id,
        target,
        moved=world.differing(red.tree, SOURCE, *ORACLE),
        unclaimed=unclaimed(world),
        weakened=(f"{OLD}:1: weaker: was `x == 1`",) if lost else (),
    )


def run(world: World, *names: str) -> World:
    """`tdd test`: right source passes every test, any other fails it validly."""
    world = operation(world)
    turn = world.state.turn
    if turn is not None and turn.suspended and set(names) & set(world.state.claims):
        return resume(world)
    for name in names:
        if world.text(TESTS[name]) == ABSENT:
            raise Refused(f"there is no test {name}")
        world = ran(world, name, passed=world.text(SOURCE) == RIGHT, tree=world.tree)
    return world


def ran(world: World, name: str, *, passed: bool, tree: str) -> World:
    status, red = (Status.PASS, None) if passed else (Status.FAIL, "valid")
    event = TestRun(
        test_id=name,
        test_id_source="native",
        status=status,
        command="pytest",
        duration_ms=1,
        tree=tree,
        native_id=name,
        red=red,
    )
    bugs = [b for b in world.state.test_bugs.values() if name in b.tests]
    closing = [
        TestBugClosed(bug=bug.id, test_id=name) for bug in bugs if passed or bug.id in revised_reports(world)
    ]
    after = world.told(event, *closing)
    return replace(after, passed=world.passed - {name} | ({name} if passed else set()))


def revised_reports(world: World) -> frozenset[str]:
    bugs = world.state.test_bugs.values()
    return frozenset(b.id for b in bugs if world.differing(b.tree, *(TESTS[test] for test in b.tests)))


def resume(world: World) -> World:
    """Each claim is proven on the turn's start."""
    turn = world.state.turn
    reds: dict[str, int] = {}
    assert turn is not None
    start = world.laid(turn.tree, tuple(p for p, _ in world.files))
    for name in world.state.claims:
        if start.text(TESTS[name]) != ABSENT:
            passed = start.text(SOURCE) == RIGHT
            world = ran(world, name, passed=passed, tree=turn.tree)
            reds |= {} if passed else {name: world.seq}
    if reds:
        return world.told(Resumed(turn=turn.id, reds=reds))
    return aside(world, turn.tree, tuple(world.state.claims))


def aside(world: World, start: str, ids: tuple[str, ...] = (), *, back: bool = False) -> World:
    paths = world.differing(start, SOURCE)
    laid = LayingAside(
        aside=next_aside(world.state),
        paths=paths,
        edited=world.tree,
        start=start,
        why="why",
        test_ids=ids,
        back_at_claim=back,
    )
    return world.told(laid).laid(start, paths).told(Reverted(aside=laid.aside))


def claim(world: World, *test_ids: str) -> World:
    """Without a name: the reds that this change brought."""
    world = operation(world)
    if not test_ids:
        implied = implied_claim(world.state)
        permitted(implied)
        assert isinstance(implied, Allow)
        test_ids = tuple(red.test_id for red in implied.claims)
    for test_id in test_ids:
        permitted(decide(world.state, observed(world, test_id), SETTINGS, in_progress=world.git))
    world = world.told(*claim_events(world.state, test_ids, (".",), OracleFacts(world.tree)))
    for laid in world.state.aside.values():
        if laid.back_at_claim:
            world = world.laid(laid.edited, laid.paths).told(Restored(aside=laid.id))
    return world


def settle(world: World) -> World:
    world = operation(world)
    verb(world, "settle")
    turn = world.state.turn
    assert turn is not None
    if drift := world.differing(turn.tree, *ORACLE):
        verdict = Verdict(Kind.TAMPERED, drift)
        return world.told(settled_event(world.state, turn, verdict, world.tree, edited=True))
    passed = world.text(SOURCE) == RIGHT
    for name in world.state.claims:
        world = ran(world, name, passed=passed, tree=world.tree)
    edited = world.differing(turn.judged or turn.tree, SOURCE) != ()
    if passed and world.differing(turn.tree, SOURCE):
        done = settled_event(world.state, turn, Verdict(Kind.ACCEPTED), world.tree, edited=True)
        green = {claim.native_id: world.seq for claim in world.state.claims.values()}
        return world.told(done, *accepted_events(world.state, turn, world.tree, (SOURCE,), green))
    verdict = Verdict(Kind.STILL_RED, ("it fails",))
    done = settled_event(world.state, turn, verdict, world.tree, edited=edited)
    struck = is_struck_out(world.state, done, SETTINGS.strikes)
    world = world.told(done)
    return aside(world, turn.tree, tuple(world.state.claims)) if struck else world


def report_bug(world: World, test_id: str) -> World:
    world = operation(world)
    verb(world, "test-bug")
    if world.text(TESTS[test_id]) == ABSENT:
        raise Refused("in no file of this repository")
    turn = world.state.turn
    name = f"b{world.state.bugs + 1}"
    place = f"{TESTS[test_id]}:1"
    bug = TestBug(bug=name, places=(place,), why="wrong", tree=world.tree, tests=(test_id,))
    world = world.told(bug)
    return world if turn is None else aside(world, turn.tree, tuple(world.state.claims), back=True)


def close_bug(world: World, bug: str) -> World:
    if bug not in world.state.test_bugs:
        raise Refused(f"no test-bug {bug}")
    return operation(world).told(TestBugClosed(bug=bug, test_id=""))


def lay_unclaimed_aside(world: World) -> World:
    world = operation(world)
    verb(world, "aside")
    ground = world.state.ground or world.tree
    return aside(world, ground, back=True) if unclaimed(world) else world


def restore(world: World, *names: str) -> World:
    world = operation(world)
    verb(world, "restore")
    name, turn = names[0], world.state.turn
    if turn is not None and world.differing(turn.tree, *names):
        return world.laid(turn.tree, names)
    if name not in world.state.aside:
        raise Refused(f"nothing is set aside as {name}")
    laid = world.state.aside[name]
    return world.laid(laid.edited, laid.paths).told(Restored(aside=name))


def refactor(world: World, what: str) -> World:
    world = operation(world)
    verb(world, f"refactor {what}", unclaimed(world) if what == "begin" else ())
    begun = world.state.refactor
    if begun is None:
        return world.told(RefactorBegun(tree=world.tree, record="r"))
    if what == "abort":
        return aside(world.told(RefactorEnded(verdict="aborted", tree=begun.tree)), begun.tree)
    kept = not world.differing(begun.tree, *ORACLE) and world.text(SOURCE) != WRONG
    counts = not kept and world.tree not in {begun.judged, begun.tree}
    ended = world.told(RefactorEnded(verdict="accepted" if kept else "regressed", tree=world.tree))
    return aside(ended, begun.tree) if counts and begun.strikes + 1 >= SETTINGS.strikes else ended


def switch(world: World, what: str) -> World:
    verb(world, what)
    tree = world.tree
    return world.told(SwitchedOff(why="spike") if what == "off" else SwitchedOn(tree=tree))


def git(world: World, words: tuple[str, ...]) -> World:
    """A merge that ends leaves the files as they are."""
    if words[1] == "sync":
        verb(world, "sync")
    return replace(world, merging=False)


def head_moves(world: World, *, without: str = "") -> World:
    """By a person: it brings nothing, or takes a test file away."""
    after = world.wrote(TESTS[without], ABSENT) if without else world
    brought = (TESTS[without],) if without else ()
    moved = after.told(
        Ground(tree=after.laid(world.state.ground or "", (SOURCE, OLD)).tree, commit="c", on="m", why="moved")
    )
    turn = world.state.turn
    if turn is None:
        return moved
    start = after.laid(turn.tree, tuple(p for p, _ in world.files if p not in brought)).tree
    return moved.told(Suspended(turn=turn.id, tree=start, commit="c", on="m"))


# -- the walk -----------------------------------------------------------------------------------------


def moves(world: World, tests: tuple[str, ...]) -> Iterator[Callable[[], World]]:
    """All that an agent or a person can do, through the commands or around them."""
    s = world.state
    if s.phase is Phase.OFF:
        yield partial(switch, world, "on")
        return
    for text in (BASE, RIGHT, WRONG):
        yield partial(world.wrote, SOURCE, text)
    yield partial(world.wrote, OLD, WEAK)
    yield partial(settle, world)
    yield partial(lay_unclaimed_aside, world)
    for test_id in tests:
        yield partial(world.wrote, TESTS[test_id], WRITTEN)
        yield partial(world.wrote, TESTS[test_id], ABSENT)
        yield partial(run, world, test_id)
        yield partial(claim, world, test_id)
        if not s.test_bugs:
            yield partial(report_bug, world, test_id)
        if s.turn is not None:
            yield partial(head_moves, world, without=test_id)
    for what in ("begin", "end", "abort"):
        yield partial(refactor, world, what)
    yield partial(switch, world, "off")
    for name in s.aside:
        yield partial(restore, world, name)
    if s.turn is not None:
        yield partial(head_moves, world)


MOST_ASIDE = 1


def reachable(tests: tuple[str, ...], deep: int) -> dict[object, World]:
    first = World()
    found, edge = {first.key(): first}, [first]
    for _ in range(deep):
        if not edge:
            break
        following: list[World] = []
        for world in edge:
            for move in moves(world, tests):
                try:
                    after = move()
                except Refused:
                    continue
                if len(after.state.aside) <= MOST_ASIDE and (key := after.key()) not in found:
                    found[key] = after
                    following.append(after)
        edge = following
    return found


def advice(world: World) -> str:
    """As `turns.next_move.following_move` asks, with what its world shows."""
    world = operation(world)
    state, turn = world.state, world.state.turn
    here = {bug for bug in state.test_bugs.values() if any(world.text(TESTS[i]) != ABSENT for i in bug.tests)}
    state = replace(state, test_bugs={bug.id: bug for bug in state.test_bugs.values() if bug in here})
    return next_move(state, facts(replace(world, state=state), turn))


def facts(world: World, turn: Turn | None) -> TreeFacts:
    state, reds = world.state, world.state.valid_reds
    if state.phase is Phase.GREEN and turn is not None:
        drift = () if turn.suspended else world.differing(turn.tree, *ORACLE)
        edited = world.differing(turn.judged or turn.tree, SOURCE) != ()
        failed = any(red.tree == world.tree for i, red in state.reds.items() if i in state.claims)
        return TreeFacts(world.git, drift=drift, edited=edited and not failed)
    if state.phase is not Phase.RED:
        return TreeFacts(world.git)
    lost = world.text(OLD) == WEAK and OLD not in state.revised
    stale = [red.test_id for red in reds if world.differing(red.tree, SOURCE, *ORACLE)]
    laid = next(reversed(list(state.aside.values())), None)
    struck = laid.test_ids if laid is not None and laid.paths and not laid.back_at_claim else ()
    return TreeFacts(
        world.git,
        unclaimed=unclaimed(world),
        losses=(f"{OLD}:1: weaker: was `x == 1`",) if lost else (),
        revised=revised_reports(world),
        claimable=deny_stale(stale) if stale else reds,
        struck=tuple(i for i in struck if world.text(TESTS[i]) != ABSENT and i not in world.passed),
    )


def carried_out(world: World, text: str) -> World:
    """The first command that it names, after the edit that it asks for."""
    if place := re.match(r"put back what (\S+) lost", text):
        return world.wrote(place[1].rstrip(","), WRITTEN)
    if text.startswith("edit the claimed source"):
        return typed(world.wrote(SOURCE, RIGHT), "tdd settle")
    if text.startswith("revise tests/"):
        lost = re.search(r", put back what (\S+) lost,", text)
        return revised(world.wrote(lost[1], WRITTEN) if lost else world, text)
    if text.startswith("restructure"):
        end, abort = re.findall(r"`([^`]+)`", text)
        after = typed(world, end)
        return typed(after, abort) if after.state.phase is Phase.REFACTOR else after
    return typed(world, re.findall(r"`([^`]+)`", text)[0])


def revised(world: World, text: str) -> World:
    """The run that follows ends the report, however the revised test ends."""
    first, _ = re.findall(r"`([^`]+)`", text)
    (path,) = re.findall(r"revise (\S+?)::", text)
    after = typed(world.wrote(path, REVISED if world.text(path) == WRITTEN else WRITTEN), first)
    assert not after.state.test_bugs
    return after


def typed(world: World, command: str) -> World:
    words = tuple(shlex.split(command))
    match words:
        case ("tdd", "test", *names):
            return run(world, *names)
        case ("tdd", "claim", *names):
            return claim(world, *names)
        case ("tdd", "restore", *names):
            return restore(world, *names)
        case ("tdd", "settle"):
            return settle(world)
        case ("tdd", "aside"):
            return lay_unclaimed_aside(world)
        case ("tdd", "refactor", what):
            return refactor(world, what)
        case ("tdd", "on"):
            return switch(world, "on")
        case ("tdd", "test-bug", "close", bug):
            return close_bug(world, bug)
        case ("tdd", "sync", *_) | ("git", *_):
            return git(world, words)
        case _:
            raise AssertionError(f"no command that can be typed: {command}")


FRESH = "write one failing test"


@pytest.mark.parametrize(
    ("tests", "deep", "most"), [((A,), 100, 7_000), ((A, B), 6, 2_800)], ids=["all-of-one-test", "two-tests"]
)
def test_what_next_says_is_allowed_in_every_state_and_leads_to_an_acceptance_or_a_new_beginning(
    tests: tuple[str, ...], deep: int, most: int
) -> None:
    worlds = reachable(tests, deep)
    assert len(worlds) > most
    leads_on: set[object] = set()
    for start in worlds.values():
        for world in (start, replace(start, merging=True)):
            leads_on |= walked(world, leads_on)


def walked(world: World, leads_on: set[object]) -> set[object]:
    """Where following `next` came by, until a new beginning or a world from which it is known to lead on."""
    told: list[str] = []
    seen: set[object] = set()
    while (key := world.key()) not in leads_on:
        assert key not in seen, f"it leads in a circle: {told}"
        assert len(told) < MOST_MOVES, f"it leads nowhere: {told}"
        seen.add(key)
        text = advice(world)
        if text.startswith(FRESH):
            break
        told.append(text)
        world = carried_out(world, text)
    return seen


def red(native: str, *, seq: int = 1, tree: str = "t1", why: str = "valid") -> Red:
    return Red(native, native, "native", seq, tree, "pytest", Status.FAIL, why)


def report(*ids: str, status: Status = Status.FAIL, **more: Any) -> TestReport:
    results = tuple(TestResult(i, i, "native", status, RunPhase.CALL, 1) for i in ids)
    return TestReport("pytest", more.pop("ended", RunEnd.FINISHED), 1, 1, results, collected=ids, **more)


REDS = {name: red(name) for name in ("tests/a.py::test_x", "tests/a.py::test_y[1]", "tests/sub/b.py::test_z")}
ALL = tuple(REDS)


def test_a_whole_run_ends_the_reds_that_it_does_not_find() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_x"), ()) == ALL[1:]


def test_a_run_that_sees_a_red_fail_again_does_not_end_it() -> None:
    assert ended_reds(REDS, report(*ALL), ()) == ()


def test_a_run_that_sees_it_pass_ends_it() -> None:
    assert ended_reds(REDS, report(*ALL, status=Status.PASS), ()) == ALL


def test_a_run_of_one_file_says_nothing_about_another() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_new"), ("tests/a.py",)) == ALL[:2]
    assert ended_reds(REDS, report("tests/sub/b.py::test_z"), ("tests/sub",)) == ()
    assert ended_reds(REDS, report(), ("tests/sub/",)) == ALL[2:]
    assert ended_reds(REDS, report("tests/a.py::test_x"), (".",)) == ALL[1:]


def test_a_run_of_a_function_looks_for_its_cases() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_y[2]"), ("tests/a.py::test_y",)) == (ALL[1],)
    assert ended_reds(REDS, report("tests/a.py::test_x"), ("tests/a.py::test_x",)) == ()


def test_a_file_that_did_not_load_and_a_run_that_did_not_end_prove_nothing() -> None:
    broken = CollectError("tests/a.py", "SyntaxError", "x")
    assert ended_reds(REDS, report("tests/sub/b.py::test_z", errors=(broken,)), ()) == ()
    assert ended_reds(REDS, report(ended=RunEnd.TIMEOUT), ()) == ()


def test_where_all_is_built_at_once_one_broken_file_proves_nothing_about_the_others() -> None:
    reds = {"src/lib.rs::works": red("src/lib.rs::works")}
    broken = CollectError("tests/other.rs", "error[E0425]", "x")
    assert ended_reds(reds, report(errors=(broken,)), ()) == ()


def test_a_suite_that_is_only_a_part_finds_what_it_names_alone() -> None:
    assert ended_reds(REDS, report("tests/a.py::test_x"), ("tests/a.py::test_x",)) == ()


def test_the_newest_red_is_the_one_seen_last_on_this_tree() -> None:
    reds = (red("a.py::one", seq=5, tree="old"), red("a.py::two", seq=3), red("a.py::three", seq=4))
    assert newest(reds, "t1") == reds[2]
    assert newest(reds, "another") is None
    assert newest(reds) == reds[0]
    assert newest(()) is None


def test_a_go_test_that_is_red_because_of_its_case_is_left_out() -> None:
    reds = (red("a_test.go::TestA"), red("a_test.go::TestA/case"))
    assert without_parents(reds) == reds[1:]
