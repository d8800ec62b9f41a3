"""Lists what the suite lost since the last acceptance, less what a person gave up with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.checks.source_tests import test_texts
from verdigris.core.paths import PathClass
from verdigris.core.value import value
from verdigris.languages.grammar.weakening import plain_weakenings
from verdigris.languages.python.weakening import weakenings
from verdigris.languages.python.weakening.suite import imported_modules
from verdigris.languages.registry import has_grammar, holds_tests
from verdigris.languages.tests import read_tests
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.state import WorktreeState
    from verdigris.languages.findings import Weakening
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
    found = _weakenings(project, ground, tree, state.revised)
    if reported := tuple(test for bug in state.test_bugs.values() for test in bug.tests):
        rest = _weakenings(project, ground, tree, (*state.revised, *reported))
        found = tuple(one for one in found if one in rest or one.kind in GONE)
    return Lost(
        tuple(_describe(one) for one in found if one.kind not in RECORDED),
        tuple(_describe(one) for one in found if one.kind in RECORDED),
    )


def _weakenings(project: Project, old: str, new: str, revised: Sequence[str]) -> tuple[Weakening, ...]:
    changed = [c.path for c in project.workspace.changes(old, new) if old != new]
    tests = [path for path in changed if project.classify(path) is PathClass.TEST]
    among_source = [path for path in changed if holds_tests(path, project.classify(path))]
    read = [*filter(has_grammar, tests), *among_source]
    found = _told_by_grammar(project, old, new, read, revised) if read else ()
    tests = [path for path in tests if path not in read]
    if not tests:
        return found
    before, after = (_with_bases(project, tree, texts_at(project, tree, tests)) for tree in (old, new))
    return (*found, *weakenings(before, after, revised=revised, data_changed=True))


def _told_by_grammar(
    project: Project, old: str, new: str, paths: Sequence[str], revised: Sequence[str]
) -> tuple[Weakening, ...]:
    before, after = (read_tests(test_texts(project, tree, paths)) for tree in (old, new))
    return plain_weakenings(before, after, revised=revised)


def _with_bases(project: Project, tree: str, texts: Mapping[str, str]) -> dict[str, str]:
    """With the test files that these import from: what they inherit stands there."""
    found, new = dict(texts), dict(texts)
    files = [e.path for e in project.workspace.files(tree) if e.path.endswith(".py")]
    while new:
        words = {word for text in new.values() for word in imported_modules(text)}
        near = [p for p in files if p not in found and p.rpartition("/")[2].removesuffix(".py") in words]
        new = texts_at(project, tree, [p for p in near if project.classify(p) is PathClass.TEST])
        found |= new
    return found


def _describe(one: Weakening) -> str:
    was = f" was `{one.before}`" if one.before else ""
    now = f" is `{one.after}`" if one.after else ""
    return f"{one.path}:{one.line}: {one.kind}:{was}{now}"
