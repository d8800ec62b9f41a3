"""Lists what the suite lost since the last acceptance, and checks source that tests assert with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from verdigris.checks.coverage import executed_lines
from verdigris.checks.source_edits import test_texts
from verdigris.core.paths import PathClass
from verdigris.core.value import field, value
from verdigris.execution.test_run import run_request
from verdigris.execution.test_selection import by_stack
from verdigris.languages.grammar.weakening import plain_weakenings
from verdigris.languages.python.syntax import parse
from verdigris.languages.python.tests import collected_tests
from verdigris.languages.python.tests.shared_oracle import find_shared
from verdigris.languages.python.weakening import weakenings
from verdigris.languages.python.weakening.shared_losses import idle_assertions, judge_shared
from verdigris.languages.python.weakening.suite import imported_modules
from verdigris.languages.registry import has_grammar, holds_tests, language_named
from verdigris.languages.tests import read_tests
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.checks.observation import TreeDifference
    from verdigris.core.state import WorktreeState
    from verdigris.execution.room import Layer
    from verdigris.languages.findings import Weakening
    from verdigris.languages.python.tests.shared_oracle import Shared
    from verdigris.storage.project import Project


GONE = frozenset({"removed", "uncollected", "skipped", "deselected", "unreadable"})
"""What no report of a wrong test excuses: it is to be revised, and only a person gives it up."""
RECORDED = frozenset({"changed", "data"})
"""Noted only: a test or golden file that asks for something else is how a requirement changes."""


@value
class Lost:
    """What the suite lost, in words."""

    blocking: tuple[str, ...]
    noted: tuple[str, ...]


def find_losses(project: Project, state: WorktreeState, tree: str) -> Lost:
    """What a person gave up is not counted, nor what a reported test, and that test alone, asks otherwise."""
    ground = state.ground or tree
    found = find_weakenings(project, ground, tree, state.revised)
    if reported := tuple(test for bug in state.test_bugs.values() for test in bug.tests):
        rest = find_weakenings(project, ground, tree, (*state.revised, *reported))
        found = tuple(one for one in found if one in rest or one.kind in GONE)
    return Lost(
        tuple(describe_weakening(one) for one in found if one.kind not in RECORDED),
        tuple(describe_weakening(one) for one in found if one.kind in RECORDED),
    )


def find_weakenings(project: Project, old: str, new: str, revised: Sequence[str]) -> tuple[Weakening, ...]:
    changed = [c.path for c in project.workspace.changes(old, new) if old != new]
    tests = [path for path in changed if project.classify(path) is PathClass.TEST]
    among_source = [path for path in changed if holds_tests(path, project.classify(path))]
    read = [*filter(has_grammar, tests), *among_source]
    found = _find_by_grammar(project, old, new, read, revised) if read else ()
    tests = [path for path in tests if path not in read]
    if not tests:
        return found
    before, after = (_with_bases(project, tree, texts_at(project, tree, tests)) for tree in (old, new))
    return (*found, *weakenings(before, after, revised=revised, data_changed=True))


def _find_by_grammar(
    project: Project, old: str, new: str, paths: Sequence[str], revised: Sequence[str]
) -> tuple[Weakening, ...]:
    before, after = (read_tests(test_texts(project, tree, paths)) for tree in (old, new))
    return plain_weakenings(before, after, revised=revised)


def _with_bases(project: Project, tree: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Adds the test files that these import from: what they inherit stands there."""
    found, new = dict(texts), dict(texts)
    files = [e.path for e in project.workspace.files(tree) if e.path.endswith(".py")]
    while new:
        words = {word for text in new.values() for word in imported_modules(text)}
        near = [p for p in files if p not in found and p.rpartition("/")[2].removesuffix(".py") in words]
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
    """Files of a tree, read when they are asked for."""

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


def find_shared_oracle(project: Project, tree: str, claimed: Sequence[str] | None) -> tuple[Shared, ...]:
    """What the claimed tests, or all, take from source as assertion or expectation; `claimed`: native ids."""
    tests, sources = _sides(project, tree)
    if claimed is None:
        claimed = [f"{path}::{name}" for path, text in tests.items() for name in _test_names(text)]
    return find_shared(tests, sources, claimed)


def question_shared(
    project: Project,
    start: str,
    tree: str,
    edits: TreeDifference,
    claimed: Sequence[str] | None,
    room: Layer | None,
) -> SharedAnswers:
    """`claimed` is None where no test is claimed, in a refactoring: then those of every test are compared."""
    changed = [c.path for c in edits.source if c.path.endswith(".py")]
    shared = find_shared_oracle(project, start, claimed) if edits.source or edits.other else ()
    if not shared:
        return SharedAnswers()
    paths = {*changed, *(one.path for one in shared)}
    before, after = (texts_at(project, at, paths) for at in (start, tree))
    lost = judge_shared(before, after, shared)
    noted = (*lost.noted, *(str(one) for one in shared if one.path in changed))
    if lost.blocking or claimed is None or not project.settings.liveness:
        return SharedAnswers(lost.blocking, noted=noted)
    asserting = [one for one in shared if one.kind == "assertion"]
    texts = {one.path: after[one.path] for one in asserting if one.path in after}
    return SharedAnswers(idle=_idle(project, tree, asserting, room), noted=noted, texts=texts)


def _idle(project: Project, tree: str, shared: Sequence[Shared], room: Layer | None) -> tuple[str, ...]:
    if not shared:
        return ()
    _, sources = _sides(project, tree)
    stacks = by_stack(project.settings.stacks, [one.test for one in shared])
    reports = [
        run_request(project, stack, TestRequest(names, trace=tuple(sorted(sources))), layer=room)
        for stack, names in stacks.items()
        if language_named(stack.language).traces
    ]
    return idle_assertions(sources, shared, executed_lines(reports))


def _sides(project: Project, tree: str) -> tuple[_TreeTexts, _TreeTexts]:
    files = [entry.path for entry in project.workspace.files(tree) if entry.path.endswith(".py")]
    classes = {path: project.classify(path) for path in files}
    tests, sources = (
        _TreeTexts(project, tree, [path for path in files if classes[path] is kind])
        for kind in (PathClass.TEST, PathClass.SOURCE)
    )
    return tests, sources


def _test_names(text: str) -> list[str]:
    try:
        return [name for name, _ in collected_tests(parse(text))]
    except (SyntaxError, ValueError, RecursionError):
        return []
