"""Collects both sides of a comparison: files, tests, inherited tests, and the facts that they assert."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.assertion_matching import match_assertions
from verdigris.languages.python.stubs.forms import Function
from verdigris.languages.python.syntax import nodes_in
from verdigris.languages.python.tests import collected_tests, is_fixture
from verdigris.languages.python.tests.assertion_places import reached_assertions
from verdigris.languages.python.tests.code import Files
from verdigris.languages.python.tests.marks import marks
from verdigris.languages.python.weakening.facts import facts
from verdigris.languages.weakening import Loss, Suite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.assertions import Mark
    from verdigris.languages.python.tests.code import Place
    from verdigris.languages.python.weakening.facts import PythonFact
    from verdigris.languages.weakening import Key


_COLLECTED = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test)\.py")
_SET_UP = frozenset(
    {
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "setup_method"),
        *("teardown_method", "setup_class", "teardown_class", "setup_module", "teardown_module"),
        *("setup_function", "teardown_function", "setUpModule", "tearDownModule", "runTest"),
    }
)


@dataclass(slots=True)
class SuiteState(Suite):
    files: Files
    tests: dict[Key, int] = field(default_factory=dict)
    facts: list[PythonFact] = field(default_factory=list)
    handed_down: frozenset[Key] = frozenset()
    """Tests (`Contract::test_x`) that are collected in other classes, which inherit them."""

    def read(self, keys: Collection[Key]) -> None:
        for path, name in sorted(keys):
            self.facts += facts(self.files, self.files.codes[path], name)

    def body(self, key: Key) -> str:
        return _text(self.files.codes[key[0]].functions[key[1]])

    def find_hidden(self, body: str) -> str:
        for path, code in self.files.codes.items():
            for node in nodes_in(code.tree):
                if isinstance(node, Function) and _text(node) == body and body != "pass":
                    return f"{path}:{node.lineno} {node.name}"
        return ""

    def still_asserts(self, scope: str, what: str) -> bool:
        named = (code.functions.get(scope) for code in self.files.codes.values())
        return any(what in _text(function) for function in named if function is not None)

    def marks(self) -> Iterator[tuple[str, Mark]]:
        for path, code in self.files.codes.items():
            yield from ((path, mark) for mark in marks(code.tree))


def _text(function: Function) -> str:
    return "\n".join(map(ast.unparse, function.body))


def states(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[SuiteState, SuiteState]:
    old, new = _narrow_states(before, after, changed)
    # If tests are in files of other names, a setting decides what is collected, which is not known here.
    if all(_COLLECTED.fullmatch(path) for path, _ in old.tests):
        new.tests = {key: line for key, line in new.tests.items() if _COLLECTED.fullmatch(key[0])}
    same = find_untouched(old.files, new.files)
    roots = _roots(old, None)
    starting = _roots(new, roots - old.tests.keys())
    old.read(roots - same)
    new.read(starting & roots - same)
    if alone := _unreached_helpers(old, roots) - same:
        # No test imports these helpers, so they are compared by themselves.
        used = _used_names(new)
        now = {
            k
            for k in _unreached_helpers(new, starting) - same
            if k in alone or k[1].rpartition("::")[2] in used
        }
        old.read(alone)
        new.read(now)
    if old.tests.keys() - new.tests.keys() or len(pairs(old, new)) < len(old.facts):
        # New tests are read only if something is missing, which may have moved there.
        new.read(starting - roots)
    return old, new


def pairs(old: SuiteState, new: SuiteState) -> dict[int, int]:
    """Maps the index of each old fact to that of the new fact that matches it."""
    return match_assertions([fact.match for fact in old.facts], [fact.match for fact in new.facts])


def _narrow_states(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[SuiteState, SuiteState]:
    """Both states, reduced to the changed files, the tests that use names defined in them, and helpers."""
    paths = [p for p in {**before, **after} if p in changed or not _COLLECTED.fullmatch(p)]
    sides = [{p: side[p] for p in paths if p in side} for side in (before, after)]
    words = find_touched(*map(Files, sides))
    used = {
        path: before[path]
        for path in (before.keys() & after.keys()).difference(paths)
        if not words.isdisjoint(re.findall(r"\w+", before[path]))
    }
    old, new = (_state(side, used) for side in sides)
    return old, new


def _state(texts: Mapping[str, str], unchanged: Mapping[str, str]) -> SuiteState:
    """The state of a suite. `unchanged`: further files, whose inherited tests do not count."""
    files = Files({**texts, **unchanged})
    tests = {(p, name): line for p, c in files.codes.items() for name, line in collected_tests(c.tree)}
    origins = (test.origin for test in _inherited_tests(Files(texts)))
    return SuiteState(files, tests, handed_down=frozenset((code.path, name) for code, name in origins))


def _roots(state: SuiteState, known: Collection[Key] | None) -> set[Key]:
    """Functions that are called from outside of the suite, such as tests.

    With `known`, an unused function counts only if it counted before. Otherwise a test could be disabled by
    making it a function that nobody calls.
    """
    used = _used_names(state)

    def starts(key: Key, function: Function) -> bool:
        if key in state.tests or key in state.handed_down or function.name in _SET_UP:
            return True
        if is_fixture(function):
            return known is None or key in known or function.name in used
        return function.name not in used and (known is None or key in known)

    return {key for key, function in _functions(state.files).items() if starts(key, function)}


def _unreached_helpers(state: SuiteState, roots: Collection[Key]) -> set[Key]:
    """Helpers that were not reached from any root, so that no assertion of them was read."""
    read = {(fact.path, fact.line) for fact in state.facts}
    return {
        key
        for key, function in _functions(state.files).items()
        if key not in roots
        and not any((key[0], line) in read for line in range(function.lineno, (function.end_lineno or 0) + 1))
    }


def _used_names(state: SuiteState) -> frozenset[str]:
    """Names that are called, passed on, or requested as a fixture."""
    return frozenset[str]().union(*(code.used for code in state.files.codes.values()))


_IMPORTS = re.compile(r"\s*(?:import|from) ")
_DERIVES = re.compile(r"^\s*class \w+\(", re.MULTILINE)


@value
class _Inherited:
    path: str
    name: str
    """The name in the inheriting class, e.g. `TestBox::test_x`."""
    line: int
    origin: Place
    """The test, in the class that defines it."""

    @property
    def body(self) -> str:
        code, name = self.origin
        return _text(code.functions[name])


def inherited_losses(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    files = Files(after)
    old, new = list(_inherited_tests(Files(before))), list(_inherited_tests(files))
    kept, known = ({(test.path, test.name) for test in tests} for tests in (new, old))
    fresh = [test for test in new if (test.path, test.name) not in known]
    origins, bodies = Counter(test.origin[1] for test in fresh), Counter(test.body for test in fresh)
    for test in old:
        if (test.path, test.name) in kept:
            continue
        if origins[test.origin[1]] > 0 or bodies[test.body] > 0:
            origins[test.origin[1]] -= 1
            bodies[test.body] -= 1
        else:
            yield from _find_loss(test, files)


def _find_loss(test: _Inherited, files: Files) -> Iterator[Loss]:
    """The loss of an inherited test: its class or base is gone, or another test has its name."""
    code = files.code(test.path)
    own = None if code is None else code.functions.get(test.name)
    if code is None or own is None:
        yield Loss("removed", test.path, test.line, test.name, "", test.name)
    elif not any(_is_super(statement, own.name) for statement in own.body):
        kind = "changed" if any(reached_assertions(files, code, test.name)) else "dropped"
        before = f"{test.name} of {test.origin[1]}"
        yield Loss(kind, test.path, own.lineno, before, f"def {own.name}", test.name)


def _is_super(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Expr(ast.Call(func=called) | ast.Await(ast.Call(func=called))):
            return ast.unparse(called) == f"super().{name}"
        case _:
            return False


def _inherited_tests(files: Files) -> Iterator[_Inherited]:
    """Each test that a collected class inherits; of those with one name, the one of the nearest base."""
    for path in (path for path, text in files.texts.items() if _DERIVES.search(text)):
        if (code := files.code(path)) is None:
            continue
        for owner, node in code.classes.items():
            bases = list(files.classes_above(code, owner))
            named = {base.rpartition(".")[2] for base, _ in bases}
            if not (node.name.startswith("Test") or any(name.endswith("TestCase") for name in named)):
                continue
            own = _own_names(node)
            for there, base in (place for _, place in bases if place is not None):
                for name, function in there.functions.items():
                    is_test = name == f"{base}::{function.name}" and function.name.startswith("test")
                    if is_test and function.name not in own:
                        own.add(function.name)
                        inherited = f"{owner}::{function.name}"
                        yield _Inherited(path, inherited, node.lineno, (there, name))


def _own_names(node: ast.ClassDef) -> set[str]:
    """The names that a class itself binds, also by `test_x = None`."""
    named = {part.name for part in node.body if isinstance(part, Function)}
    assigned = (part for part in node.body if isinstance(part, ast.Assign))
    return named | {t.id for part in assigned for t in part.targets if isinstance(t, ast.Name)}


def files_of_bases(texts: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The files from which the texts may import, and so inherit tests."""
    imports = (line for text in texts.values() for line in text.splitlines() if _IMPORTS.match(line))
    modules = {word.rpartition(".")[2] for line in imports for word in re.findall(r"[\w.]+", line)}
    return [p for p in files if p.endswith(".py") and p.rpartition("/")[2].removesuffix(".py") in modules]


def find_touched(old: Files, new: Files) -> set[str]:
    """The names whose meaning changed, directly or through the names that they use."""
    names = {name.rpartition("::")[2] for (_, name), _ in _meanings(old).items() ^ _meanings(new).items()}
    uses = [
        (name.rpartition("::")[2], words)
        for files in (old, new)
        for code in files.codes.values()
        for name, words in code.words.items()
    ]
    while more := {name for name, words in uses if not words.isdisjoint(names)} - names:
        names |= more
    return names


def find_untouched(old: Files, new: Files) -> set[Key]:
    names = find_touched(old, new)
    was, is_ = _meanings(old), _meanings(new)
    return {
        key
        for key in _functions(old).keys() & _functions(new).keys()
        if was[key] == is_[key] and old.codes[key[0]].words[key[1]].isdisjoint(names)
    }


def _functions(files: Files) -> dict[Key, Function]:
    return {(path, name): node for path, code in files.codes.items() for name, node in code.functions.items()}


def _meanings(files: Files) -> dict[Key, str]:
    return {(path, name): text for path, code in files.codes.items() for name, text in code.meanings.items()}
