"""Asks what only a verdict asks of code that passes: is it honest, and are the assertions live?"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.checks.coverage import watchable
from verdigris.checks.doubles import judge_doubles
from verdigris.checks.liveness.grammar_runs import OpposedTests, affected_tests, oppose
from verdigris.checks.liveness.judgement import Liveness
from verdigris.checks.liveness.traced_runs import LivenessRequest, LiveRuns
from verdigris.checks.process_state import judge_left
from verdigris.checks.test_reach import find_affected
from verdigris.core.paths import PathClass
from verdigris.core.report import Status, TestReport
from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import replace, value
from verdigris.execution.rooms import layer_beside, possible
from verdigris.execution.test_run import on_start_tree
from verdigris.execution.test_selection import by_stack
from verdigris.languages.findings import Concern, SourceChange
from verdigris.languages.registry import (
    by_language,
    is_traced,
    language_for,
    language_named,
)
from verdigris.storage.draws import lot_of
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.checks.observation import Candidate, TreeDifference
    from verdigris.core.state import Claim
    from verdigris.execution.room import Layer

NO_SANDBOX = "liveness not tried: no sandbox can be made here"


@value
class VerdictChecks:
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why nothing that was seen can be trusted: the verdict is `broken`."""


def scrutinise(
    candidate: Candidate,
    claimed: Sequence[str],
    *,
    suite: TestReport | None,
    claims: Iterable[Claim] = (),
    shared: Mapping[str, str] | None = None,
) -> VerdictChecks:
    """`claimed`: native ids; none in a refactoring, where only the tests that it affects are asked.
    `suite`: the run of all tests in this verdict. `claims`: what is known of the reds of the claimed tests.
    `shared`: texts of source in which assertions of theirs stand.
    """
    project, start, tree, edits = candidate.project, candidate.start, candidate.tree, candidate.edits
    tests = traced_tests(project, tree)
    blocking, noted = _static(project, start, tree, edits)
    doubles = judge_doubles(candidate, claimed, () if suite is None else suite.doubles)
    blocking, noted = (*blocking, *doubles.hollow), (*noted, *doubles.noted)
    if not project.settings.liveness:
        return VerdictChecks(blocking, (*noted, *judge_left(candidate, (), suite, tests).noted))
    others = _find_affected_tests(candidate, claimed, tests, suite)
    request = LivenessRequest(
        {**tests, **(shared or {})},
        tuple(claimed),
        others,
        suite,
        {function_of(claim.native_id): claim.duration_ms for claim in claims},
        {claim.native_id: claim.place for claim in claims},
        changed=tuple(change.path for change in edits.source if not change.deleted),
    )
    alive = _try_assertions(candidate, request)
    left = judge_left(candidate, claimed, suite, tests)
    unreached = (f"not shown to be live: {what}" for what in alive.unreached)
    return VerdictChecks(
        (*blocking, *alive.hollow, *left.blocking), (*noted, *unreached, *left.noted), alive.doubts
    )


def _find_affected_tests(
    candidate: Candidate, claimed: Sequence[str], tests: dict[str, str], suite: TestReport | None
) -> tuple[str, ...]:
    """Tests besides the claimed ones that the change may have hollowed out: those that ran it.

    Where the run could not record that, those that name something of it.
    """
    paths = watchable(candidate.edits)
    if suite is None or not paths:
        return ()
    functions = frozenset(map(function_of, claimed))
    passing = (r.native_id for r in suite.results if r.status is Status.PASS)
    passed = [i for i in passing if function_of(i) not in functions and is_traced(split_id(i).path)]
    before, after = (texts_at(candidate.project, at, paths) for at in (candidate.start, candidate.tree))
    affected = find_affected(suite.uses, before, after, passed)
    lot = lot_of(candidate.project, candidate.start, candidate.tree, "affected")
    if affected is not None:
        return tuple(lot.sample(affected, len(affected)))
    by = by_language(paths)
    readers = [tracing for language in by if (tracing := language.tracing()) is not None]
    return tuple(
        name for tracing in readers for name in tracing.affected_tests(passed, tests, before, after, lot)
    )


def _static(
    project: Project, start: str, tree: str, edits: TreeDifference
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    concerns = find_concerns(project, start, tree, edits)
    lines = [(f"{c.path}:{c.line}: {c.kind}: {c.what}", c.blocks) for c in concerns]
    strict = project.settings.concerns == "block"
    return (
        tuple(text for text, blocks in lines if blocks or strict),
        tuple(text for text, blocks in lines if not (blocks or strict)),
    )


def find_concerns(project: Project, start: str, tree: str, edits: TreeDifference) -> tuple[Concern, ...]:
    """What the texts that changed have and honest code rarely or never has."""
    changed = by_language(c.path for c in edits.source)
    tests = _test_texts(project, tree)
    concerns: list[Concern] = []
    for language, read in changed.items():
        paths = [path for path in read if language.source.reads(path)]
        before, after = (project.workspace.read_many(at, paths) for at in (start, tree))
        new = {path: after.get(path) for path in paths}
        concerns += language.source.concerns(SourceChange(before, new, tests))
    return tuple(concerns)


def _test_texts(project: Project, tree: str) -> dict[str, bytes]:
    files = (entry.path for entry in project.workspace.files(tree))
    read = [path for path in files if (language := language_for(path)) and language.tests.reads(path)]
    tests = [path for path in read if project.classify(path) is PathClass.TEST]
    texts = project.workspace.read_many(tree, tests)
    return {path: data for path, data in texts.items() if data is not None}


def traced_tests(project: Project, tree: str) -> dict[str, str]:
    """The texts of the test files whose runs are traced."""
    files = (entry.path for entry in project.workspace.files(tree) if is_traced(entry.path))
    return texts_at(project, tree, [path for path in files if project.classify(path) is PathClass.TEST])


def _try_assertions(turn: Candidate, request: LivenessRequest) -> Liveness:
    project, start, tree, room = turn.project, turn.start, turn.tree, turn.room
    paths, findings = turn.paths, list[Liveness]()
    claimed = by_stack(project.settings.stacks, request.claimed)
    others = by_stack(project.settings.stacks, request.others)

    @contextmanager
    def before() -> Iterator[Layer | None]:
        with on_start_tree(project, start=start, edited=tree, paths=paths) as layer:
            yield None if layer is None else layer_beside(layer, room)

    changed = [c.path for c in turn.edits.source]
    graft = project.workspace.graft(tree, start, paths) if paths else tree
    for stack in project.settings.stacks:
        mine, more, rest = tuple(claimed.get(stack, ())), tuple(others.get(stack, ())), tuple[str, ...]()
        if not language_named(stack.language).traces and room is not None and request.suite is not None:
            more, rest = affected_tests(project, stack, tree, changed, mine, request.suite)
        if not (mine or more or rest):
            continue
        if not language_named(stack.language).traces:
            alive = oppose(project, stack, OpposedTests(tree, mine, more, before=graft), room)
            is_confined = room is not None or not mine
            findings.append(alive if is_confined else replace(alive, unreached=(NO_SANDBOX,)))
            if rest and not alive.hollow:
                once = OpposedTests(tree, (), rest, before=graft, once=True)
                asked = oppose(project, stack, once, room)
                findings.append(replace(asked, doubts=(), unreached=(*asked.unreached, *asked.doubts)))
        elif not possible(project).ok:
            findings.append(Liveness((), (NO_SANDBOX,)))
        else:
            runs = LiveRuns(project, stack, replace(request, claimed=mine, others=more), room, before)
            findings.append(runs.try_all())
    return Liveness(
        tuple(text for alive in findings for text in alive.hollow),
        tuple(text for alive in findings for text in alive.unreached),
        tuple(text for alive in findings for text in alive.doubts),
    )
