"""Runs true and changed tests alike, to see whether assertions are live where tree-sitter reads the tests.

The runs are one set: the same files are asked for, and their texts have the same length, are as new as each
other, and end in a comment of random letters, so that a tool that goes by content compiles each of them. The
order is random. Which of them had the true tests is known here only: that one must pass, and every other
must fail.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from verdigris.checks.liveness.grammar_judgement import (
    Member,
    TriedTests,
    hollow_others,
    judge_set,
    not_shown,
    was_not_built,
)
from verdigris.checks.liveness.judgement import Liveness
from verdigris.core.languages import language_of
from verdigris.core.paths import FILE
from verdigris.core.report import Status, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.execution.test_run import run_request, time_limit
from verdigris.execution.test_selection import stack_of
from verdigris.languages.registry import has_grammar, language_named
from verdigris.runners.protocol import TestRequest
from verdigris.storage.draws import lot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from verdigris.core.settings import Stack
    from verdigris.execution.room import Layer
    from verdigris.languages.probes import Probe, Try
    from verdigris.storage.project import Project

_SPARE_MS = 1_000
"""How long files of unclaimed tests may take at least, to be asked as often as claimed ones."""
_ALWAYS = 2
"""Changed texts that are tried however long the tests take."""


@value
class Held:
    """Held-out tests, as they come into the tree."""

    texts: Mapping[str, bytes]
    dressed: Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
    withheld: tuple[str, ...] = ()


@value
class OpposedTests:
    """The tests of one stack whose assertions are tried, and the trees that they are tried on."""

    tree: str
    claimed: Sequence[str]
    """Native ids."""
    others: Sequence[str] = ()
    """Of unclaimed tests that pass in the suite."""
    before: str | None = None
    """The tree without the change; what an unclaimed test passes there too is no news."""
    once: bool = False
    """Each is asked with one change only."""
    held: Held | None = None
    """The claimed ones are held-out tests; `tree` is then the one without them."""


def oppose(project: Project, stack: Stack, tests: OpposedTests, room: Layer | None) -> Liveness:
    claimed, others, held = tests.claimed, tests.others, tests.held
    language = language_named(stack.language)
    paths = [p for p in dict.fromkeys(split_id(one).path for one in (*claimed, *others)) if has_grammar(p)]
    if room is None or not paths:
        return Liveness((), ())
    from verdigris.languages.probes import draw_members

    dice = lot_of(project, tests.tree, tests.before or "", stack.root)
    found = project.workspace.read_many(tests.tree, paths) if held is None else held.texts
    texts = {path: data for path in paths if (data := found.get(path)) is not None}
    most, least = (1, 1) if tests.once else language.liveness.tried_texts
    known = language.liveness.probes(texts, (*claimed, *others), dice, most)
    reached = {name for probe in known for name in probe.names}
    others = [native for native in others if native in reached]
    needed = {split_id(native).path for native in (*claimed, *others)}
    texts = {path: data for path, data in texts.items() if path in needed}
    known = tuple(probe for probe in known if probe.path in needed)
    members = draw_members(known, dice, most, least)
    mine, more = (tuple(n for n in ids if split_id(n).path in texts) for ids in (claimed, others))
    asked = TriedTests(mine, more)
    if not members:
        return Liveness((), tuple(not_shown(asked, known)))
    return _SetRuns(project, stack, tests, texts, room, dice).judge(asked, known, members)


def affected_tests(
    project: Project,
    stack: Stack,
    tree: str,
    changed: Sequence[str],
    claimed: Sequence[str],
    suite: TestReport,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Unclaimed tests that pass and that the change may have hollowed out: those whose files reach it.

    Whole files are run. The tests of those that take little time come first; the others are asked once.
    """
    took: dict[str, int] = {}
    passing: dict[str, list[str]] = {}
    for result in suite.results:
        path = split_id(result.native_id).path
        took[path] = took.get(path, 0) + result.duration_ms
        if result.status is Status.PASS and result.native_id not in claimed and has_grammar(path):
            passing.setdefault(path, []).append(result.native_id)
    goals = [path for path in changed if language_of(path) == stack.language]
    if not goals or not passing:
        return (), ()
    files = [entry.path for entry in project.workspace.files(tree)]
    read = partial(project.workspace.read_many, tree)
    mine = {split_id(native).path for native in claimed}
    stacked = [p for p in passing if stack_of(project.settings.stacks, p) == stack]
    reached = sorted(language_named(stack.language).imports.reaching(stacked, goals, files, read))
    lot_of(project, tree, stack.root, "affected").shuffle(reached)
    left = max(_SPARE_MS, sum(took.get(path, 0) for path in mine))
    near = [path for path in reached if path in mine]
    for path in (p for p in reached if p not in mine and took[p] <= left):
        left -= took[path]
        near += [path] if left >= 0 else []
    rest = (path for path in reached if path not in near)
    return (
        tuple(native for path in near for native in passing[path]),
        tuple(native for path in rest for native in passing[path]),
    )


class _SetRuns:
    """The runs of one set."""

    def __init__(
        self,
        project: Project,
        stack: Stack,
        tests: OpposedTests,
        texts: Mapping[str, bytes],
        room: Layer,
        dice: Random,
    ) -> None:
        self.project, self.stack, self.texts, self.dice = project, stack, texts, dice
        self.tree, self.held, self.before = tests.tree, tests.held, tests.before
        self.modes = {
            entry.path: entry.mode for entry in project.workspace.files(self.tree) if entry.path in texts
        }
        self.room = room
        self.names = sorted({language_named(stack.language).liveness.run_target(path) for path in texts})
        self.limit = time_limit(project, project.state())
        self.margin = dice.randrange(12, 40)

    def judge(
        self, asked: TriedTests, known: Sequence[Probe], members: Sequence[tuple[Try, ...]]
    ) -> Liveness:
        from verdigris.languages.probes import changed_texts, opposites

        versions = [(member, changed_texts(self.texts, member)) for member in ((), *members)]
        size = {path: max(len(version[path]) for _, version in versions) for path in self.texts}
        self.dice.shuffle(versions)
        ends = time.monotonic() + self.project.settings.liveness_seconds
        true: list[TestReport] = []
        done: list[Member] = []
        for tries, version in versions:
            if tries and len(done) >= _ALWAYS and time.monotonic() > ends:
                continue
            report = self.run(version, size)
            if not tries:
                true.append(report)
                continue
            done.append(Member(tries, report))
            if was_not_built(report) and (plain := opposites(tries)):
                other = changed_texts(self.texts, plain)
                longer = {path: max(size[path], len(other[path])) for path in size}
                done[-1] = Member(plain, self.run(other, longer))
        old = self._find_old_passes(asked, done, size)
        news = TriedTests(asked.claimed, tuple(one for one in asked.others if one not in old))
        judged = judge_set(news, known, true[0], done, len(members))
        noted = (
            f"{native}: it passes with a changed assertion, as it did before this turn" for native in old
        )
        return replace(judged, unreached=(*judged.unreached, *noted))

    def _find_old_passes(
        self, asked: TriedTests, done: Sequence[Member], size: Mapping[str, int]
    ) -> list[str]:
        """The unclaimed tests that pass a changed text without the turn's change, too."""
        from verdigris.languages.probes import changed_texts

        found: dict[str, None] = {}
        for member in done if self.before is not None else ():
            suspects = hollow_others(asked, member)
            if suspects.difference(found):
                version = changed_texts(self.texts, member.tries)
                report = self.run(version, {p: max(size[p], len(version[p])) for p in size}, self.before)
                passing = {r.native_id for r in report.results if r.status is Status.PASS}
                found |= dict.fromkeys(sorted(suspects & passing))
        return [*found]

    def run(
        self, version: Mapping[str, bytes], size: Mapping[str, int], tree: str | None = None
    ) -> TestReport:
        texts: Mapping[str, bytes] = {
            path: self._with_ending(data, size[path]) for path, data in version.items()
        }
        withheld: tuple[str, ...] = ()
        if self.held is not None:
            texts, withheld = self.held.dressed({**self.held.texts, **texts}), self.held.withheld
        contents = {path: (self.modes.get(path, FILE), data) for path, data in texts.items()}
        wanted = self.project.workspace.compose(tree or self.tree, contents)
        layer = replace(self.room, wanted=wanted, worktree=self.tree)
        return run_request(
            self.project,
            self.stack,
            TestRequest(tuple(self.names), timeout=self.limit, sources=(), withheld=withheld),
            layer=layer,
        )

    def _with_ending(self, data: bytes, size: int) -> bytes:
        letters = "".join(self.dice.choice("0123456789abcdef") for _ in range(size - len(data) + self.margin))
        return data + f"\n// {letters}\n".encode()
