"""What only a verdict asks of code that passes: is it honest code, and are the assertions live?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.concerns import concerns
from verdigris.core.languages import PYTHON, language_of
from verdigris.core.liveness import Liveness, judge_liveness, on_their_own, plan
from verdigris.core.pathclass import PathClass
from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.kernel.calling import call
from verdigris.kernel.coverage import never_run, unmeasured, watchable
from verdigris.kernel.opposing import oppose
from verdigris.kernel.reading import is_read
from verdigris.kernel.room.opening import possible
from verdigris.kernel.selection import by_stack
from verdigris.kernel.texts import texts_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.concerns import Concern
    from verdigris.core.report import TestReport, VariantOutcome
    from verdigris.kernel.observe import Difference
    from verdigris.kernel.project import Project
    from verdigris.kernel.room.layers import Layer

_DATA = (".json", ".csv", ".tsv", ".txt", ".yaml", ".yml", ".toml", ".ini", ".sql")
NO_SANDBOX = "liveness not tried: no sandbox can be made here"


@value
class Scrutiny:
    blocking: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    """Why nothing that was seen can be trusted: the verdict is `broken`."""


@value
class _Tried:
    alive: Liveness
    watched: tuple[TestReport, ...] = ()
    """Runs of the claimed tests alone, with the turn's source traced."""


def scrutinise(
    project: Project,
    start: str,
    tree: str,
    edits: Difference,
    claimed: Sequence[str],
    room: Layer | None = None,
) -> Scrutiny:
    """`claimed`: native ids."""
    tests = _test_texts(project, tree)
    blocking, noted = _static(project, start, tree, edits, tests)
    tried = _Tried(Liveness((), ()))
    if project.settings.liveness:
        tried = _tried(project, tree, tests, claimed, watchable(edits), room)
        blocking += tried.alive.hollow
        noted += tuple(f"not shown to be live: {what}" for what in tried.alive.unreached)
        results = [result for report in tried.watched for result in report.results]
        noted += on_their_own(_in_python(claimed), results) if tried.watched else ()
    strict = project.settings.uncovered == "block"
    noted += unmeasured(c.path for c in edits.source if not c.deleted) if strict else ()
    # Only to note it, nobody waits for another run.
    asked = strict or tried.watched
    idle = never_run(project, start, tree, edits, claimed, tried.watched, room) if asked else ()
    if strict:
        return Scrutiny(blocking + idle, noted, tried.alive.doubts)
    return Scrutiny(blocking, noted + idle, tried.alive.doubts)


def _static(
    project: Project, start: str, tree: str, edits: Difference, tests: dict[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    paths = [c.path for c in edits.source if c.path.endswith((".py", ".pyi"))]
    before, after = (texts_at(project, at, paths) for at in (start, tree))
    data = [c.path for c in (*edits.source, *edits.other) if not c.deleted and c.path.endswith(_DATA)]
    found = concerns(
        {p: before.get(p) for p in paths},
        {p: after.get(p) for p in paths},
        tests,
        pyproject=texts_at(project, start, ["pyproject.toml"]).get("pyproject.toml", ""),
        data=texts_at(project, tree, data),
    )
    found += _by_grammar(project, start, tree, edits)
    told = [(f"{c.path}:{c.line}: {c.kind}: {c.what}", c.blocks) for c in found]
    strict = project.settings.concerns == "block"
    return (
        tuple(text for text, blocks in told if blocks or strict),
        tuple(text for text, blocks in told if not (blocks or strict)),
    )


def _by_grammar(project: Project, start: str, tree: str, edits: Difference) -> tuple[Concern, ...]:
    paths = [c.path for c in edits.source if is_read(c.path) and not c.deleted]
    if not paths:
        return ()
    from verdigris.kernel.grammar.concerns import grammar_concerns

    return grammar_concerns(*(project.workspace.read_many(at, paths) for at in (start, tree)))


def _test_texts(project: Project, tree: str) -> dict[str, str]:
    files = (entry.path for entry in project.workspace.files(tree) if entry.path.endswith(".py"))
    return texts_at(project, tree, [path for path in files if project.classify(path) is PathClass.TEST])


def _tried(
    project: Project,
    tree: str,
    tests: dict[str, str],
    claimed: Sequence[str],
    trace: Sequence[str],
    room: Layer | None,
) -> _Tried:
    """The claimed tests once more, and once for every change of an assertion, in a disposable tree."""
    hollow: list[str] = []
    unreached: list[str] = []
    doubts: list[str] = []
    watched: list[TestReport] = []
    for stack, names in by_stack(project.settings.stacks, claimed).items():
        if stack.language != PYTHON:
            alive = oppose(project, stack, tree, names, room)
            hollow += alive.hollow
            unreached += alive.unreached if room is not None else (NO_SANDBOX,)
            doubts += alive.doubts
            continue
        made = plan(tests, names)
        if made.variants and not possible(project).ok:
            unreached.append(NO_SANDBOX)
            continue
        outcomes: tuple[VariantOutcome, ...] = ()
        if made.variants:
            report = call(project, stack, names, variants=made.variants, trace=trace, layer=room, sources=())
            watched.append(report)
            outcomes = report.variants
        alive = judge_liveness(made, outcomes)
        hollow += alive.hollow
        unreached += alive.unreached
        doubts += alive.doubts
    return _Tried(Liveness(tuple(hollow), tuple(unreached), tuple(doubts)), tuple(watched))


def _in_python(claimed: Sequence[str]) -> list[str]:
    return [name for name in claimed if language_of(split_id(name).path) == PYTHON]
