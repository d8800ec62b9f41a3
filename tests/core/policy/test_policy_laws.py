"""Tries random actions in random order: every accepted edit has its red and claim, and tests stay frozen."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support.writes import with_facts
from verdigris.core.actions import Allow, ClaimTest, Deny, Do, FileWrite, Target, Unclaimed, Write
from verdigris.core.events import Accepted, EditClaim, Event, LayingAside, Reverted, TestBug, TestRun
from verdigris.core.fold import advance
from verdigris.core.paths import PathClass
from verdigris.core.policy import decide
from verdigris.core.report import RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.settings import Settings
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.turn_events import (
    OracleFacts,
    accepted_events,
    claim_events,
    is_struck_out,
    next_aside,
    settled_event,
)
from verdigris.core.verdict import Before, Kind, TrialFacts, judge

SOURCES = ("src/a.py", "src/b.py")
TESTS = ("tests/test_a.py::test_x", "tests/test_b.py::test_y")
FILES = tuple(t.partition("::")[0] for t in TESTS)
CLASS = {**dict.fromkeys(SOURCES, PathClass.SOURCE), **dict.fromkeys(FILES, PathClass.TEST)}
CLASS["README.md"] = PathClass.OTHER

Tree = tuple[tuple[str, int], ...]

STUB = b"def f():  # STUB:TDD\n    raise NotImplementedError\n"


class Laws(RuleBasedStateMachine):
    """A world of five files whose contents are numbers, and an actor who does as it likes through the gate,
    and now and then around it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings()
        self.files: dict[str, int] = dict.fromkeys(CLASS, 0)
        self.trees: dict[str, Tree] = {}
        self.log: list[Event] = []
        self.state = WorktreeState(ground=self.snapshot())
        self.proven: Tree = self.source_of(self.snapshot())
        self.counter = 0

    # -- the world ---------------------------------------------------------------------------------

    def snapshot(self) -> str:
        tree = tuple(sorted(self.files.items()))
        name = f"tree-{hash(tree)}"
        self.trees[name] = tree
        return name

    def differing(self, old: str, new: str, *classes: PathClass) -> tuple[str, ...]:
        before, after = dict(self.trees[old]), dict(self.trees[new])
        return tuple(p for p in before if before[p] != after[p] and CLASS[p] in classes)

    def source_of(self, tree: str) -> Tree:
        return tuple(item for item in self.trees[tree] if CLASS[item[0]] is PathClass.SOURCE)

    def record(self, *events: Event) -> None:
        for event in events:
            self.log.append(event)
            self.state = advance(self.state, event, len(self.log))

    def unclaimed(self, tree: str) -> tuple[Unclaimed, ...]:
        assert self.state.ground is not None
        paths = self.differing(self.state.ground, tree, PathClass.SOURCE)
        return tuple(Unclaimed(p, 1, "not a stub") for p in paths)

    def edit(self, path: str) -> None:
        self.counter += 1
        self.files[path] = self.counter

    # -- what an actor may try ------------------------------------------------------------------------

    @rule(path=st.sampled_from(sorted(CLASS)))
    def write_through_the_gate(self, path: str) -> None:
        write = Write((with_facts(FileWrite(path, CLASS[path], b"x = 1\n", b"x = 2\n")),))
        match decide(self.state, write, self.settings):
            case Deny():
                return
            case Allow(claims=claims):
                for red in claims:
                    if not self.claimed(red.test_id, path, implied=True):
                        return
        self.edit(path)

    @rule(path=st.sampled_from(sorted(CLASS)))
    def write_around_the_gate(self, path: str) -> None:
        self.edit(path)

    @rule(test_id=st.sampled_from(TESTS), red=st.sampled_from(["valid", "import", "fixture"]))
    def see_a_failure(self, test_id: str, red: str) -> None:
        self.record(self.run_event(test_id, Status.FAIL, red))

    @rule(test_id=st.sampled_from(TESTS))
    def see_a_pass(self, test_id: str) -> None:
        self.record(self.run_event(test_id, Status.PASS, None))

    @rule(test_id=st.sampled_from(TESTS), path=st.sampled_from(sorted(CLASS)))
    def claim(self, test_id: str, path: str) -> None:
        self.claimed(test_id, path, implied=False)

    @rule(passing=st.sets(st.sampled_from(TESTS)))
    def settle(self, passing: set[str]) -> None:
        if isinstance(decide(self.state, Do("settle"), self.settings), Deny):
            return
        turn, tree = self.state.turn, self.snapshot()
        assert turn is not None
        oracle = (PathClass.TEST, PathClass.SPEC, PathClass.SWITCH)
        statuses = {t: Status.PASS if t in passing else Status.FAIL for t in TESTS}
        for test_id in self.state.claims:
            self.record(
                self.run_event(test_id, statuses[test_id], "valid" if test_id not in passing else None)
            )
        green = {test_id: len(self.log) for test_id in self.state.claims}
        edits = self.differing(turn.tree, tree, PathClass.SOURCE, PathClass.OTHER)
        verdict = judge(
            TrialFacts(
                {c: c for c in self.state.claims},
                Before({}),
                report(statuses),
                drift=self.differing(turn.tree, tree, *oracle),
                changed=bool(edits),
            )
        )
        settled = settled_event(self.state, turn, verdict, tree, edited=(turn.judged or turn.tree) != tree)
        if verdict.kind is Kind.ACCEPTED:
            self.record(settled, *accepted_events(self.state, turn, tree, edits, green))
            self.proven = self.source_of(tree)
        elif is_struck_out(self.state, settled, self.settings.strikes):
            self.record(settled)
            self.lay_aside(turn.tree, tree)
        else:
            self.record(settled)

    @rule()
    def report_a_test_bug(self) -> None:
        turn, tree = self.state.turn, self.snapshot()
        if isinstance(decide(self.state, Do("test-bug"), self.settings), Deny):
            return
        self.record(TestBug(bug="b1", places=(f"{FILES[0]}:1",), why="wrong", tree=tree))
        if turn is not None:
            self.lay_aside(turn.tree, tree)

    @precondition(lambda self: self.state.phase is Phase.RED)
    @rule()
    def write_a_stub(self) -> None:
        write = Write((with_facts(FileWrite("src/new.py", PathClass.SOURCE, None, STUB)),))
        assert isinstance(decide(self.state, write, self.settings), Allow)

    # -- pieces ------------------------------------------------------------------------------------------

    def claimed(self, test_id: str, path: str, *, implied: bool) -> bool:
        tree = self.snapshot()
        red, turn = self.state.reds.get(test_id), self.state.turn
        protected = (PathClass.TEST,) if turn else (PathClass.TEST, PathClass.SOURCE)
        action = ClaimTest(
            test_id,
            (Target(path, frozenset({CLASS[path]})),),
            moved=self.differing(red.tree, tree, *protected) if red else (),
            unclaimed=() if turn else self.unclaimed(tree),
            drift=self.differing(turn.tree, tree, PathClass.TEST) if turn else (),
        )
        if isinstance(decide(self.state, action, self.settings), Deny):
            return False
        self.record(
            *claim_events(
                self.state, (test_id,), (path,), OracleFacts(tree), manner="implied" if implied else "named"
            )
        )
        return True

    def lay_aside(self, start: str, edited: str) -> None:
        paths = self.differing(start, edited, PathClass.SOURCE)
        self.record(
            LayingAside(aside=next_aside(self.state), paths=paths, edited=edited, start=start, why="strikes")
        )
        before = dict(self.trees[start])
        for path in paths:
            self.files[path] = before[path]
        self.record(Reverted(aside=f"a{self.state.asides}"))

    def run_event(self, test_id: str, status: Status, red: str | None) -> TestRun:
        return TestRun(
            test_id=test_id,
            test_id_source="native",
            status=status,
            command="pytest",
            duration_ms=1,
            tree=self.snapshot(),
            native_id=test_id,
            red=red,
        )

    # -- the laws --------------------------------------------------------------------------------------------

    @invariant()
    def every_acceptance_has_its_red_and_its_claim(self) -> None:
        for index, event in enumerate(self.log):
            if not isinstance(event, Accepted):
                continue
            red, green = self.log[event.red - 1], self.log[event.green - 1]
            assert isinstance(red, TestRun)
            assert (red.test_id, red.red) == (event.test_id, "valid")
            assert isinstance(green, TestRun)
            assert green.status is Status.PASS
            claims = [
                i
                for i, e in enumerate(self.log[:index], 1)
                if isinstance(e, EditClaim) and (e.test_id, e.red) == (event.test_id, event.red)
            ]
            assert any(event.red < claim for claim in claims)

    @invariant()
    def the_ground_holds_only_accepted_source(self) -> None:
        assert self.state.ground is not None
        assert self.source_of(self.state.ground) == self.proven

    @invariant()
    def an_accepted_turn_kept_its_oracle(self) -> None:
        for event in self.log:
            if isinstance(event, Accepted):
                assert self.differing(event.before, event.after, PathClass.TEST) == ()

    @invariant()
    def the_phase_fits_the_turn(self) -> None:
        assert (self.state.phase is Phase.GREEN) == (self.state.turn is not None)
        assert bool(self.state.claims) == (self.state.turn is not None)


def report(statuses: Mapping[str, Status]) -> TestReport:
    results = tuple(TestResult(t, t, "native", s, RunPhase.CALL, 1) for t, s in statuses.items())
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, results, tuple(statuses))


TestLaws = Laws.TestCase
TestLaws.settings = hypothesis_settings(max_examples=200, stateful_step_count=40, deadline=None)
