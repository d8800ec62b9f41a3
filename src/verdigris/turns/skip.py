"""Skips tests that a driver gave up on: the only exception from "no test is skipped" that there is.

The kernel marks the tests in their files itself and records why. They become part of the ground, with their
marks: whoever deletes or loosens one, or skips another, meets the same refusal as ever, and taking a mark
away is no loss. No command leads here: it is a driver's decision and never an agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.checks.source_edits import at, only_for_tests
from verdigris.checks.weakening import find_losses
from verdigris.core.actions import BlockTests, Deny
from verdigris.core.errors import UserError
from verdigris.core.events import Accepted, BlockingTests, TestBugClosed, TestsBlocked
from verdigris.core.paths import LINK, PathClass
from verdigris.core.records import AGENT
from verdigris.core.test_ids import split_id
from verdigris.core.turn_events import denial_event
from verdigris.core.value import value
from verdigris.execution.test_selection import baseline_ids
from verdigris.languages.registry import holds_tests, reader_of
from verdigris.languages.tests import is_made_by, written_tests
from verdigris.storage.intents import carries_out
from verdigris.storage.snapshots.restoration import list_displaced
from verdigris.turns.operation import operation, refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import Red, WorktreeState
    from verdigris.storage.project import Project

BLOCKED = "blocked: "
"""Begins the reason that stands in the file."""


@value
class SkippedTests:
    tests: tuple[str, ...]
    """Those that are marked; their reds ended."""
    paths: tuple[str, ...]
    unmarked: Mapping[str, str]
    """Those that stay red, with the reason."""


def skip_blocked(project: Project, test_ids: Sequence[str], why: str) -> SkippedTests | Deny:
    """Each test is marked, or named as one that cannot be; all must be red, and none may ever have passed.

    Safe to repeat: what is skipped already counts as marked.
    """
    if not why.strip():
        raise UserError("a test is not given up without a reason.", hint="say what stood in the way")
    with operation(project) as state:
        known = tuple(one for one in dict.fromkeys(test_ids) if one in state.blocked)
        wanted = tuple(one for one in dict.fromkeys(test_ids) if one not in state.blocked)
        if not wanted:
            return SkippedTests(known, (), {})
        tree = project.workspace.snapshot()
        passed = _read_passed(project, state)
        if denial := _refuse_skip(project, state, tree, wanted, passed):
            project.record(denial_event(denial, f"skip {' '.join(test_ids)}"))
            return denial
        reason = why if why.startswith(BLOCKED) else BLOCKED + why
        marking = _Marking(project, state, tree, passed, reason)
        for test_id in wanted:
            marking.mark(state.reds[test_id])
        if marking.marked:
            intent = marking.intent(why)
            project.record(intent, sync=True)
            carry_out(project, intent)
        return SkippedTests((*known, *marking.marked), tuple(marking.texts), marking.unmarked)


@carries_out(BlockingTests, "finished marking blocked tests as skipped")
def carry_out(project: Project, intent: BlockingTests) -> None:
    """The effect of an intent that is in the log, and its outcome. Safe to repeat."""
    closed = _closed_bugs(project.state(), intent.tests)
    displaced = project.workspace.lay(intent.after, intent.paths, expect=intent.before)
    done = TestsBlocked(
        tests=intent.tests,
        why=intent.why,
        paths=intent.paths,
        ground=intent.ground,
        displaced=list_displaced(displaced),
    )
    project.record(done, *closed, sync=True)


def _closed_bugs(state: WorktreeState, tests: Sequence[str]) -> tuple[TestBugClosed, ...]:
    """Nobody will revise a test that was given up."""
    natives = [state.reds[test].native_id for test in tests if test in state.reds]

    def is_blocked(test: str) -> bool:
        path, _, name = test.partition("::")
        return any(is_made_by(path, name, native) for native in natives)

    bugs = (bug for bug in state.test_bugs.values() if bug.tests and all(map(is_blocked, bug.tests)))
    return tuple(TestBugClosed(bug=bug.id, test_id="") for bug in bugs)


def _refuse_skip(
    project: Project, state: WorktreeState, tree: str, test_ids: tuple[str, ...], passed: frozenset[str]
) -> Deny | None:
    if project.actor.role == AGENT:
        return Deny(
            "not-an-agents",
            "No agent skips a test.",
            "make it pass, or report it by tdd test-bug, with its file, line and why",
        )
    reds = [state.reds[test_id] for test_id in test_ids if test_id in state.reds]
    moved = (path for red in reds for path in difference(project, red.tree, tree).protected)
    action = BlockTests(
        test_ids,
        passed=tuple(red.test_id for red in reds if {red.test_id, red.native_id} & passed),
        moved=tuple(dict.fromkeys(moved)),
        unclaimed=find_unclaimed(project, state.ground or tree, tree, limit=1),
        weakened=find_losses(project, state, tree).blocking,
    )
    return refusal(project, state, action)


def _read_passed(project: Project, state: WorktreeState) -> frozenset[str]:
    """Ids of tests that an acceptance proved, or that passed in the last whole run."""
    accepted = (record.data["test_id"] for record in project.log.records() if record.type == Accepted.kind())
    return frozenset(accepted) | (baseline_ids(project, state) or frozenset())


def _written_name(path: str, data: bytes, native: str) -> str | None:
    """The name of the innermost test in the text that makes the reported one."""
    text = data.decode("utf-8", "surrogateescape")
    makers = (one.name for one in written_tests(path, text, (native,)) if is_made_by(path, one.name, native))
    return max(makers, key=len, default=None)


class _Marking:
    """The texts with the marks that could be made, and the ground with them."""

    def __init__(
        self, project: Project, state: WorktreeState, tree: str, passed: frozenset[str], reason: str
    ) -> None:
        self.project, self.tree, self.ground = project, tree, state.ground or tree
        self.reds, self.passed, self.reason = state.reds.values(), passed, reason
        self.entries = {entry.path: entry for entry in project.workspace.files(tree)}
        self.texts: dict[str, bytes] = {}
        self.grounds: dict[str, bytes] = {}
        self.marked: dict[str, None] = {}
        """Ids, with those of the other cases that the same mark skips."""
        self.unmarked: dict[str, str] = {}

    def mark(self, red: Red) -> None:
        path = split_id(red.native_id).path
        entry = self.entries.get(path)
        if entry is None or entry.mode == LINK:
            self.unmarked[red.test_id] = f"{path} is no file of the tree"
            return
        data = self.texts.get(path) or self.project.workspace.read(self.tree, path) or b""
        name = _written_name(path, data, red.native_id)
        done = reader_of(path).tests.with_skip(path, data, red.native_id[len(path) + 2 :], self.reason)
        if name is None or done is None:
            self.unmarked[red.test_id] = "no mark is known for a test of this form"
        elif fellow := next((one for one in sorted(self.passed) if is_made_by(path, name, one)), None):
            self.unmarked[red.test_id] = f"the mark would skip {fellow} too, which passed before"
        elif (ground := self._ground_text(path, done)) is None:
            why_not = f"the tests in {path} stand in other places than at the last acceptance"
            self.unmarked[red.test_id] = why_not
        else:
            self.texts[path], self.grounds[path] = done, ground
            cases = (one.test_id for one in self.reds if is_made_by(path, name, one.native_id))
            self.marked |= dict.fromkeys((red.test_id, *cases))

    def _ground_text(self, path: str, marked: bytes) -> bytes | None:
        """The file as it is to stand in the ground; of source, its tests alone go there."""
        cls = self.project.classify(path)
        regions = reader_of(path).test_regions()
        among_source = holds_tests(path, cls) and not only_for_tests(path, at(self.project, self.tree))
        if not among_source or regions is None:
            return marked if cls is PathClass.TEST or holds_tests(path, cls) else None
        return regions.with_tests_of(marked, self.project.workspace.read(self.ground, path) or b"")

    def intent(self, why: str) -> BlockingTests:
        after, ground = (
            self.project.workspace.compose(
                base, {path: (self.entries[path].mode, data) for path, data in texts.items()}
            )
            for base, texts in ((self.tree, self.texts), (self.ground, self.grounds))
        )
        return BlockingTests(
            tests=tuple(self.marked),
            why=why,
            paths=tuple(self.texts),
            before=self.tree,
            after=after,
            ground=ground,
        )
