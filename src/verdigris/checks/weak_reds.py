"""Asks of reds, before there is code for them, whether code that knows nothing would pass them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.checks.changed_runs import ChangedTree, ForkedRuns, run_forked
from verdigris.checks.debts import debt_of
from verdigris.checks.missing_stubs import missing_stubs
from verdigris.checks.mutants import expected_lengths
from verdigris.core.debts import Debt, WeakReds
from verdigris.core.paths import PathClass
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.execution.rooms import frozen_layer
from verdigris.execution.test_selection import by_stack
from verdigris.languages.registry import is_traced, language_named, reader_of
from verdigris.languages.tests import written_test
from verdigris.storage.project import texts_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.core.settings import Stack
    from verdigris.core.state import Red
    from verdigris.languages.findings import Mutant
    from verdigris.storage.project import Project

SECONDS = 1.5
"""The time for all bodies of one claim, after the test tool is loaded."""
_EACH = 1.0
_MOST = 60
"""Bodies that one claim tries."""
_FILES = 20
"""Files of source that are looked for the functions that a test names."""


def find_weak_reds(project: Project, tree: str, reds: Iterable[Red]) -> WeakReds:
    """Makes one call of the test tool for each stack, with no other tests than the reds."""
    stacks = by_stack(project.settings.stacks, [red.native_id for red in reds])
    room = frozen_layer(project, tree, {split_id(name).path for names in stacks.values() for name in names})
    if room is None or not project.settings.liveness:
        return WeakReds()
    weak: dict[str, tuple[Debt, ...]] = {}
    untried = 0
    for stack, names in stacks.items():
        if language_named(stack.language).traces:
            found = _try_stack(ChangedTree(project, tree, room), stack, names)
            weak |= found.weak
            untried += found.untried
    return WeakReds(weak, untried)


def _try_stack(at: ChangedTree, stack: Stack, names: Sequence[str]) -> WeakReds:
    called = _find_called(at, names)
    bodies = called.bodies[:_MOST]
    if not bodies:
        return WeakReds()
    at = called.at
    asked = ForkedRuns(
        [{}, *({body.path: body.data} for body in bodies)],
        [names] * (len(bodies) + 1),
        SECONDS,
        _EACH,
        until_failure=len(names) == 1,
    )
    true, *ends = run_forked(at, stack, asked).runs
    red = [name for name in names if true is not None and true.outcomes.get(name) == "failed"]
    weak = {
        name: tuple(
            debt_of(body, called.texts[body.path])
            for body, end in zip(bodies, ends, strict=True)
            if end is not None and end.outcomes.get(name) == "passed"
        )
        for name in red
    }
    late = len(called.bodies) - sum(end is not None and bool(end.outcomes or not end.why) for end in ends)
    return WeakReds({name: debts for name, debts in weak.items() if debts}, late)


@value
class _Called:
    at: ChangedTree
    """With the declarations that tests name and source lacks."""
    texts: Mapping[str, str]
    bodies: tuple[Mutant, ...] = ()


def _find_called(at: ChangedTree, names: Sequence[str]) -> _Called:
    """The functions of source that the tests name, existing or declared by a stub."""
    project, tree = at.project, at.tree
    files = frozenset(entry.path for entry in project.workspace.files(tree))
    tests = texts_at(project, tree, dict.fromkeys(split_id(name).path for name in names))
    words = dict.fromkeys(word for name in names for word in _words_of(name, tests))
    lengths = expected_lengths(names, tests)
    texts = _imported_source(project, tree, tests, files)
    stubs = {stub.path: stub.whole for path in tests for stub in missing_stubs(project, path)}
    texts |= stubs
    if stubs:
        at = replace(at, room=at.layer_with({path: _encode(text) for path, text in stubs.items()}))
    order = list(words)
    bodies = [
        (order.index(name), body)
        for path, text in texts.items()
        for body in reader_of(path).source.empty_bodies({}, {path: _encode(text)}, words, lengths)
        if (name := body.subject.partition("(")[0].removeprefix("def ").strip()) in words
    ]
    bodies.sort(key=lambda pair: pair[0])
    return _Called(at, texts, tuple(body for _, body in bodies))


def _words_of(native: str, texts: Mapping[str, str]) -> list[str]:
    """The names in the text of a test, in their order; those of its file where the test is not found."""
    path = split_id(native).path
    text = texts.get(path, "")
    own = written_test(path, text, native)
    lines = text.splitlines() if own is None else text.splitlines()[own.first - 1 : own.last]
    return re.findall(r"[^\W\d]\w*", "\n".join(lines))


def _imported_source(
    project: Project, tree: str, tests: Mapping[str, str], files: frozenset[str]
) -> dict[str, str]:
    """The source that tests import, and what that imports; no more than some files."""
    seen: dict[str, str] = {}
    left = dict(tests)
    while left and len(seen) < _FILES:
        paths = dict.fromkeys(_imports(left, files))
        new = [path for path in paths if path not in seen and project.classify(path) is PathClass.SOURCE]
        left = texts_at(project, tree, [path for path in new if is_traced(path)][: _FILES - len(seen)])
        seen |= left
    return seen


def _imports(texts: Mapping[str, str], files: frozenset[str]) -> Iterator[str]:
    for path, text in texts.items():
        yield from reader_of(path).imports.imported_files(path, text, files)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
