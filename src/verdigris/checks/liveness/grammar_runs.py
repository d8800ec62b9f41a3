"""Runs true and changed tests alike, to see whether assertions are live where tree-sitter reads the tests.

The runs are one set: the same files are asked for, and their texts have the same length, are as new as each
other, and end in a comment of random letters, so that a tool that goes by content compiles each of them. The
order is random. Which of them had the true tests is known here only: that one must pass, and every other
must fail. In all of them equalities compare content, which costs no run; where that fails in the true ones,
the plain text is run.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from verdigris.checks.liveness.grammar_judgement import (
    Member,
    TriedTests,
    find_other_content,
    hollow_others,
    judge_set,
    not_shown,
    was_not_built,
)
from verdigris.checks.liveness.judgement import Liveness
from verdigris.checks.surroundings import (
    Dependences,
    OtherSurroundings,
    describe_dependences,
    find_dependences,
    find_failures,
)
from verdigris.core.languages import language_of
from verdigris.core.paths import FILE
from verdigris.core.report import Status, TestReport
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.execution.test_run import run_request, time_limit
from verdigris.execution.test_selection import stack_of
from verdigris.languages.probes import Try, changed_texts, draw_members, opposites
from verdigris.languages.registry import has_grammar, language_named
from verdigris.runners.protocol import TestRequest
from verdigris.storage.draws import lot_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from verdigris.core.settings import Stack
    from verdigris.core.surroundings import Part
    from verdigris.execution.room import Layer
    from verdigris.languages.probes import Probe
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
    found = project.workspace.read_many(tests.tree, paths) if held is None else held.texts
    texts = {path: data for path in paths if (data := found.get(path)) is not None}
    contents = tuple(
        Try(one, one.changes[0]) for one in language.liveness.contents(texts, (*claimed, *others))
    )
    runs = _SetRuns(project, stack, tests, room)
    asked = TriedTests(tuple(claimed), tuple(others))
    compared = runs.judge(asked, texts, contents) if contents else None
    return runs.judge(asked, texts) or Liveness((), ()) if compared is None else compared


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


def _described_as_written(known: Sequence[Probe], contents: Sequence[Try]) -> tuple[Probe, ...]:
    """Assertions as the test's author wrote them, not as they compare content."""
    written = {(one.probe.path, one.probe.line): one.probe.what for one in contents}
    return tuple(replace(one, what=written.get((one.path, one.line), one.what)) for one in known)


def _passing(report: TestReport) -> frozenset[str]:
    return frozenset(result.native_id for result in report.results if result.status is Status.PASS)


class _SetRuns:
    """The runs of one set."""

    def __init__(self, project: Project, stack: Stack, tests: OpposedTests, room: Layer) -> None:
        self.project, self.stack, self.once = project, stack, tests.once
        self.tree, self.held, self.before = tests.tree, tests.held, tests.before
        self.others = None if self.held else OtherSurroundings(project, room, (), traced=False)
        self.usual = room
        self.room = room if self.others is None else self.others.layer(self.others.parts)
        self.language = language_named(stack.language)
        self.modes = {entry.path: entry.mode for entry in project.workspace.files(self.tree)}
        self.names: list[str] = []
        self.size: dict[str, int] = {}
        self.limit = time_limit(project, project.state())
        self.dice = lot_of(project, tests.tree, tests.before or "", stack.root)
        self.margin = self.dice.randrange(12, 40)

    def judge(
        self, asked: TriedTests, plain: Mapping[str, bytes], contents: Sequence[Try] = ()
    ) -> Liveness | None:
        """`contents`: the edits by which all texts compare content; None if the tests do not bear these."""
        texts = changed_texts(plain, contents)
        most, least = (1, 1) if self.once else self.language.liveness.tried_texts
        known = self.language.liveness.probes(texts, (*asked.claimed, *asked.others), self.dice, most)
        known = _described_as_written(known, contents)
        reached = {name for probe in known for name in probe.names}
        others = tuple(native for native in asked.others if native in reached)
        needed = {split_id(native).path for native in (*asked.claimed, *others)}.intersection(texts)
        known = tuple(probe for probe in known if probe.path in needed)
        members = draw_members(known, self.dice, most, least)
        asked = TriedTests(tuple(n for n in asked.claimed if split_id(n).path in texts), others)
        if not members:
            return Liveness((), tuple(not_shown(asked, known)))
        self.names = sorted({self.language.liveness.run_target(path) for path in needed})
        texts, plain = ({path: side[path] for path in needed} for side in (texts, plain))
        versions = [(member, changed_texts(texts, member)) for member in ((), *members)]
        self.size = {path: max(len(version[path]) for _, version in versions) for path in needed}
        self.dice.shuffle(versions)
        true, done = self._run_all(texts, versions)
        unlike = [native for native in (*asked.claimed, *others) if native not in _passing(true)]
        if unlike and self.others is not None:
            named = self._name_dependences(self.others, unlike, asked)
            self.room, self.others = self.usual, None
            live = Liveness((), ()) if named.hollow else self.judge(asked, plain, contents)
            return live and replace(
                live, hollow=(*named.hollow, *live.hollow), unreached=(*named.noted, *live.unreached)
            )
        if contents and unlike:
            passing = self._pass_as_written(asked, texts, plain, true)
            hollow = find_other_content(contents, passing, true)
            return Liveness(hollow, ()) if hollow else None
        old = self._find_old_passes(asked, done, texts)
        news = TriedTests(asked.claimed, tuple(one for one in asked.others if one not in old))
        judged = judge_set(news, known, true, done, len(members))
        noted = (
            f"{native}: it passes with a changed assertion, as it did before this turn" for native in old
        )
        return replace(judged, unreached=(*judged.unreached, *noted))

    def _name_dependences(
        self, others: OtherSurroundings, unlike: Sequence[str], asked: TriedTests
    ) -> Dependences:
        """What depended on it before the turn, too, is only noted."""

        def run(parts: Collection[Part], tree: str | None = None) -> TestReport:
            layer = others.layer(parts)
            laid = layer if tree is None else replace(layer, wanted=tree, worktree=self.tree)
            request = TestRequest(tuple(self.names), timeout=self.limit, sources=())
            return run_request(self.project, self.stack, request, layer=laid)

        found = find_dependences(unlike, others.parts, run)
        more = [native for native in found if native not in asked.claimed]
        before = run(others.parts, self.before) if more and self.before else None
        return describe_dependences(found, find_failures(before, more) if before else ())

    def _run_all(
        self, texts: Mapping[str, bytes], versions: Sequence[tuple[tuple[Try, ...], Mapping[str, bytes]]]
    ) -> tuple[TestReport, list[Member]]:
        """The run of the true texts, and of as many changed ones as the time allows."""
        ends = time.monotonic() + self.project.settings.liveness_seconds
        done: list[Member] = []
        for tries, version in versions:
            if tries and len(done) > _ALWAYS and time.monotonic() > ends:
                continue
            done.append(Member(tries, self.run(version)))
            if was_not_built(done[-1].report) and (negated := opposites(tries)):
                done[-1] = Member(negated, self.run(changed_texts(texts, negated)))
        [true] = [member.report for member in done if not member.tries]
        return true, [member for member in done if member.tries]

    def _pass_as_written(
        self,
        asked: TriedTests,
        texts: Mapping[str, bytes],
        plain: Mapping[str, bytes],
        compared: TestReport,
    ) -> frozenset[str]:
        """The tests that pass where no content is compared; no unclaimed one that was so before the turn."""
        passing = _passing(self.run(plain)) if not was_not_built(compared) else frozenset()
        others = passing.difference(asked.claimed, _passing(compared))
        if not others or self.before is None:
            return passing
        return passing - (others - _passing(self.run(texts, self.before)))

    def _find_old_passes(
        self, asked: TriedTests, done: Sequence[Member], texts: Mapping[str, bytes]
    ) -> list[str]:
        """The unclaimed tests that pass a changed text without the turn's change, too."""
        found: dict[str, None] = {}
        for member in done if self.before is not None else ():
            suspects = hollow_others(asked, member)
            if suspects.difference(found):
                passing = _passing(self.run(changed_texts(texts, member.tries), self.before))
                found |= dict.fromkeys(sorted(suspects & passing))
        return [*found]

    def run(self, version: Mapping[str, bytes], tree: str | None = None) -> TestReport:
        texts: Mapping[str, bytes] = {
            path: self._with_ending(data, max(self.size[path], len(data))) for path, data in version.items()
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
