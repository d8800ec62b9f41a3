"""Both sides of a comparison: which files count, which tests are collected, and all that they assert."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.languages.python.parsed import parse
from verdigris.languages.python.renaming import matched
from verdigris.languages.python.stubforms import Function
from verdigris.languages.python.testfile import collected, is_fixture
from verdigris.languages.python.weakening.facts import facts
from verdigris.languages.python.weakening.names import File, Suite, file_of
from verdigris.languages.python.weakening.weakening_inherited import handed_down
from verdigris.languages.python.weakening.weakening_marks import marks
from verdigris.languages.python.weakening.weakening_touched import touched, untouched

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from verdigris.languages.python.weakening.facts import Fact
    from verdigris.languages.python.weakening.weakening_marks import Mark

_COLLECTED = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
_SET_UP = frozenset(
    {
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "setup_method"),
        *("teardown_method", "setup_class", "teardown_class", "setup_module", "teardown_module"),
        *("setup_function", "teardown_function", "setUpModule", "tearDownModule", "runTest"),
    }
)

Key = tuple[str, str]


@dataclass(slots=True)
class State:
    suite: Suite
    tests: dict[Key, int] = field(default_factory=dict)
    """Line by path and `Class::name` of all that is collected."""
    facts: list[Fact] = field(default_factory=list)
    handed_down: frozenset[Key] = frozenset()
    """Tests that other classes have from the one they stand in."""

    def read(self, keys: Collection[Key], files: Mapping[Key, File]) -> None:
        for path, name in sorted(keys):
            self.facts += facts(self.suite, files[path, name], name)

    def names(self) -> Counter[str]:
        return Counter(name for _, name in self.tests)

    def body(self, key: Key) -> str:
        return _text(self.suite.files[key[0]].functions[key[1]])

    def hidden(self, body: str) -> str:
        """Where the body of a test stands that is no longer collected."""
        for file in self.suite.files.values():
            for node in ast.walk(file.tree):
                if isinstance(node, Function) and _text(node) == body and body != "pass":
                    return f"{file.path}:{node.lineno} {node.name}"
        return ""

    def stands(self, scope: str, what: str) -> bool:
        files = (file for file in self.suite.files.values() if scope in file.functions)
        return any(what in _text(file.functions[scope]) for file in files)

    def within(self, name: str, scope: str) -> bool:
        return not scope or f"{name}::".startswith(f"{scope}::")

    def marks(self) -> Iterator[tuple[str, Mark]]:
        for path, file in self.suite.files.items():
            yield from ((path, mark) for mark in marks(file.tree))


def _text(function: Function) -> str:
    return "\n".join(map(ast.unparse, function.body))


def parsed(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except SyntaxError:
        return None


def states(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[State, State]:
    old, new = _concerned(before, after, changed)
    # Where tests live in files of other names, what is collected is configured, and cannot be known here.
    if all(_COLLECTED.fullmatch(path) for path, _ in old.tests):
        new.tests = {key: line for key, line in new.tests.items() if _COLLECTED.fullmatch(key[0])}
    same = untouched(old.suite, new.suite)
    roots = _roots(old, None)
    starting = _roots(new, roots.keys() - old.tests.keys())
    old.read(roots.keys() - same, roots)
    new.read(starting.keys() & roots.keys() - same, starting)
    if old.tests.keys() - new.tests.keys() or len(pairs(old, new)) < len(old.facts):
        # New tests are read only where something is missing that may have moved there.
        new.read(starting.keys() - roots.keys(), starting)
    return old, new


def pairs(old: State, new: State) -> dict[int, int]:
    """By index, the new fact that an old one is found in."""
    return matched([fact.match for fact in old.facts], [fact.match for fact in new.facts])


def _concerned(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[State, State]:
    """The files that changed, the tests that use what is defined in them, and all helpers."""
    paths = [p for p in {**before, **after} if p in changed or not _COLLECTED.fullmatch(p)]
    old, new = (_state({p: side[p] for p in paths if p in side}) for side in (before, after))
    words = touched(old.suite, new.suite)
    for path in (before.keys() & after.keys()).difference(paths):
        if not words.isdisjoint(re.findall(r"\w+", before[path])):
            also = _state({path: before[path]})
            for state in (old, new):
                state.suite = Suite({**state.suite.files, **also.suite.files})
                state.tests |= also.tests
    return old, new


def _state(texts: Mapping[str, str]) -> State:
    trees = {p: tree for p, t in texts.items() if p.endswith(".py") and (tree := parsed(t)) is not None}
    tests = {(path, name): line for path, tree in trees.items() for name, line in collected(tree)}
    suite = Suite({path: file_of(path, tree) for path, tree in trees.items()})
    return State(suite, tests, handed_down=handed_down(texts))


def _roots(state: State, known: Collection[Key] | None) -> dict[Key, File]:
    """Functions that someone out of sight starts. With `known`, those that nobody is seen to use count only
    if they did so before: else a test could be put to rest as a function that no one calls.
    """
    used = _used(state)

    def starts(file: File, name: str, function: Function) -> bool:
        key = (file.path, name)
        if key in state.tests or key in state.handed_down or function.name in _SET_UP:
            return True
        if is_fixture(function):
            return known is None or key in known or function.name in used
        return function.name not in used and (known is None or key in known)

    return {
        (path, name): file
        for path, file in state.suite.files.items()
        for name, function in file.functions.items()
        if starts(file, name, function)
    }


def _used(state: State) -> set[str]:
    """Names that are called, handed on, or asked for as a fixture."""
    found: set[str] = set()
    for file in state.suite.files.values():
        for node in ast.walk(file.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Constant(value=str(name)):
                    found.add(name)
    return found
