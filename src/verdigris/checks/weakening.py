"""Lists what the suite lost since the last acceptance, and checks source that tests assert with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from verdigris.checks.coverage import executed_lines
from verdigris.checks.source_edits import test_texts
from verdigris.core.paths import PathClass
from verdigris.core.value import field, replace, value
from verdigris.execution.test_run import run_request
from verdigris.execution.test_selection import by_stack
from verdigris.languages.registry import (
    UNREAD,
    by_language,
    holds_tests,
    is_traced,
    language_named,
    reader_of,
)
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    from verdigris.checks.observation import Candidate
    from verdigris.core.state import WorktreeState
    from verdigris.languages.findings import Weakening
    from verdigris.languages.protocol import Language
    from verdigris.languages.tracing import SharedOracle, Tracing


GONE = frozenset({"removed", "uncollected", "skipped", "deselected", "unreadable"})
"""What no report of a wrong test excuses: it is to be revised, and only a person gives it up."""
RECORDED = frozenset({"changed", "data"})
"""Noted only: a test or golden file that asks for something else is how a requirement changes."""


@value
class Lost:
    """What the suite lost, in words."""

    blocking: tuple[str, ...]
    changed: tuple[str, ...]
    """Assertions that ask for something else."""
    data: tuple[str, ...]

    @property
    def noted(self) -> tuple[str, ...]:
        return (*self.changed, *self.data)


def find_losses(project: Project, state: WorktreeState, tree: str) -> Lost:
    """Compares with the ground."""
    open_reports = (test for bug in state.test_bugs.values() for test in bug.tests)
    reported = (*open_reports, *state.reported)
    return losses_between(project, state.ground or tree, tree, state.revised, reported)


def losses_between(
    project: Project, old: str, new: str, revised: Sequence[str], reported: Sequence[str]
) -> Lost:
    """What a person gave up is not counted, nor what a reported test, and that test alone, asks otherwise."""
    found = find_weakenings(project, old, new, revised)
    if found and reported:
        rest = find_weakenings(project, old, new, (*revised, *reported))
        found = tuple(one for one in found if one in rest or one.kind in GONE)
    told = {
        part: tuple(describe_weakening(one) for one in found if of(one.kind))
        for part, of in (
            ("blocking", lambda kind: kind not in RECORDED),
            ("changed", lambda kind: kind == "changed"),
            ("data", lambda kind: kind == "data"),
        )
    }
    return Lost(**told)


def find_weakenings(project: Project, old: str, new: str, revised: Sequence[str]) -> tuple[Weakening, ...]:
    """What the tests of each language lost; a test file that none reads is data."""
    changed = [c.path for c in project.workspace.changes(old, new) if old != new]
    classes = {path: project.classify(path) for path in changed}
    tests = [p for p, cls in classes.items() if cls is PathClass.TEST or holds_tests(p, cls)]
    read = by_language(path for path in tests if reader_of(path).tests.reads(path))
    found: list[Weakening] = []
    for language, paths in read.items():
        before, after = (
            _with_bases(project, tree, language, test_texts(project, tree, paths)) for tree in (old, new)
        )
        found += language.tests.weakenings(before, after, revised)
    data = [path for path in tests if not reader_of(path).tests.reads(path)]
    before, after = (texts_at(project, tree, data) for tree in (old, new))
    found += UNREAD.tests.weakenings(before, after, revised)
    return tuple(found)


def _with_bases(project: Project, tree: str, language: Language, texts: Mapping[str, str]) -> dict[str, str]:
    """Adds the test files that these inherit from, and those that those do."""
    found, new = dict(texts), dict(texts)
    files = [entry.path for entry in project.workspace.files(tree)]
    while new:
        near = [path for path in language.tests.test_bases(new, files) if path not in found]
        new = texts_at(project, tree, [p for p in near if project.classify(p) is PathClass.TEST])
        found |= new
    return found


def describe_weakening(one: Weakening) -> str:
    if one.before and one.before == one.after:
        now = "reads as before; names in it come from elsewhere"
        return f"{one.path}:{one.line}: {one.kind}: `{one.before}` {now}"
    was = f" was `{one.before}`" if one.before else ""
    now = f" is `{one.after}`" if one.after else ""
    return f"{one.path}:{one.line}: {one.kind}:{was}{now}"


@value
class SharedAnswers:
    weakened: tuple[str, ...] = ()
    """What tests assert or expect by way of source, and no longer do."""
    idle: tuple[str, ...] = ()
    """Assertions of source that no claimed test was seen to run."""
    noted: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Source in which assertions of the claimed tests stand: they are tried like those of the tests."""


class _TreeTexts(Mapping[str, str]):
    """Files of a tree, each read when it is first needed."""

    def __init__(self, project: Project, tree: str, paths: Iterable[str]) -> None:
        self._project, self._tree = project, tree
        self._read: dict[str, str | None] = dict.fromkeys(paths)

    def __getitem__(self, path: str) -> str:
        text = self._read[path]
        if text is None:
            text = texts_at(self._project, self._tree, [path]).get(path, "")
            self._read[path] = text
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._read)

    def __len__(self) -> int:
        return len(self._read)


@value
class _TracedFiles:
    """The files of a tree whose runs one language traces."""

    tracing: Tracing
    tests: _TreeTexts
    sources: _TreeTexts

    def find_shared(self, claimed: Sequence[str] | None) -> tuple[SharedOracle, ...]:
        return self.tracing.find_shared(self.tests, self.sources, claimed)


def _traced_files(project: Project, tree: str) -> Iterator[_TracedFiles]:
    paths = (entry.path for entry in project.workspace.files(tree) if is_traced(entry.path))
    for language, mine in by_language(paths).items():
        classes = {path: project.classify(path) for path in mine}
        tests, sources = (
            _TreeTexts(project, tree, [path for path in mine if classes[path] is kind])
            for kind in (PathClass.TEST, PathClass.SOURCE)
        )
        if (tracing := language.tracing()) is not None:
            yield _TracedFiles(tracing, tests, sources)


def find_shared_oracle(
    project: Project, tree: str, claimed: Sequence[str] | None
) -> tuple[SharedOracle, ...]:
    """What the claimed tests, or all, take from source as assertion or expectation; `claimed`: native ids."""
    return tuple(one for files in _traced_files(project, tree) for one in files.find_shared(claimed))


def question_shared(candidate: Candidate, claimed: Sequence[str] | None) -> SharedAnswers:
    """`claimed` is None where no test is claimed, in a refactoring: then those of every test are compared."""
    answers = SharedAnswers()
    if not candidate.paths:
        return answers
    for files in _traced_files(candidate.project, candidate.start):
        shared = files.find_shared(claimed)
        one = _question_files(candidate, claimed, files.tracing, shared) if shared else SharedAnswers()
        answers = SharedAnswers(
            (*answers.weakened, *one.weakened),
            (*answers.idle, *one.idle),
            (*answers.noted, *one.noted),
            {**answers.texts, **one.texts},
        )
    return answers


def _question_files(
    candidate: Candidate, claimed: Sequence[str] | None, tracing: Tracing, shared: Sequence[SharedOracle]
) -> SharedAnswers:
    project = candidate.project
    changed = [c.path for c in candidate.edits.source if is_traced(c.path)]
    paths = {*changed, *(one.path for one in shared)}
    before, after = (texts_at(project, at, paths) for at in (candidate.start, candidate.tree))
    lost = tracing.judge_shared(before, after, shared)
    noted = (*lost.noted, *(str(one) for one in shared if one.path in changed))
    if lost.blocking or claimed is None or not project.settings.liveness:
        return SharedAnswers(lost.blocking, noted=noted)
    asserting = [one for one in shared if one.kind == "assertion"]
    texts = {one.path: after[one.path] for one in asserting if one.path in after}
    return SharedAnswers(idle=_idle(candidate, asserting), noted=noted, texts=texts)


def _idle(candidate: Candidate, shared: Sequence[SharedOracle]) -> tuple[str, ...]:
    if not shared:
        return ()
    project = candidate.project
    stacks = by_stack(project.settings.stacks, [one.test for one in shared])
    found: list[str] = []
    for files in _traced_files(project, candidate.tree):
        asked = TestRequest(trace=tuple(sorted(files.sources)))
        reports = [
            run_request(project, stack, replace(asked, names=names), layer=candidate.room)
            for stack, names in stacks.items()
            if language_named(stack.language).traces
        ]
        found += files.tracing.idle_assertions(files.sources, shared, executed_lines(reports))
    return tuple(found)
