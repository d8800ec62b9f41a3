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
from verdigris.languages.python.tests.code import Tests
from verdigris.languages.python.weakening.facts import facts, marks
from verdigris.languages.python.weakening.names import SuiteFiles, read_file
from verdigris.languages.weakening import Loss

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.assertions import Mark
    from verdigris.languages.python.tests.code import Code
    from verdigris.languages.python.weakening.facts import Fact
    from verdigris.languages.python.weakening.names import File


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
class SuiteState:
    suite: SuiteFiles
    tests: dict[Key, int] = field(default_factory=dict)
    """The line of each collected test, by path and `Class::name`."""
    facts: list[Fact] = field(default_factory=list)
    handed_down: frozenset[Key] = frozenset()
    """Tests that other classes inherit."""

    def read(self, keys: Collection[Key], files: Mapping[Key, File]) -> None:
        for path, name in sorted(keys):
            self.facts += facts(self.suite, files[path, name], name)

    def names(self) -> Counter[str]:
        return Counter(name for _, name in self.tests)

    def body(self, key: Key) -> str:
        return _text(self.suite.files[key[0]].functions[key[1]])

    def find_hidden(self, body: str) -> str:
        """The place of a function with this body that is not collected as a test; empty if there is none."""
        for file in self.suite.files.values():
            for node in nodes_in(file.tree):
                if isinstance(node, Function) and _text(node) == body and body != "pass":
                    return f"{file.path}:{node.lineno} {node.name}"
        return ""

    def still_asserts(self, scope: str, what: str) -> bool:
        files = (file for file in self.suite.files.values() if scope in file.functions)
        return any(what in _text(file.functions[scope]) for file in files)

    def is_within(self, name: str, scope: str) -> bool:
        return not scope or f"{name}::".startswith(f"{scope}::")

    def marks(self) -> Iterator[tuple[str, Mark]]:
        for path, file in self.suite.files.items():
            yield from ((path, mark) for mark in marks(file.tree))


def _text(function: Function) -> str:
    return "\n".join(map(ast.unparse, function.body))


def states(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[SuiteState, SuiteState]:
    old, new = _narrow_states(before, after, changed)
    # If tests are in files of other names, a setting decides what is collected, which is not known here.
    if all(_COLLECTED.fullmatch(path) for path, _ in old.tests):
        new.tests = {key: line for key, line in new.tests.items() if _COLLECTED.fullmatch(key[0])}
    same = find_untouched(old.suite, new.suite)
    roots = _roots(old, None)
    starting = _roots(new, roots.keys() - old.tests.keys())
    old.read(roots.keys() - same, roots)
    new.read(starting.keys() & roots.keys() - same, starting)
    if alone := _unreached_helpers(old, roots) - same:
        # No test imports these helpers, so they are compared by themselves.
        used = _used_names(new)
        now = {
            k
            for k in _unreached_helpers(new, starting) - same
            if k in alone or k[1].rpartition("::")[2] in used
        }
        for state, keys in ((old, alone), (new, now)):
            state.read(keys, {key: state.suite.files[key[0]] for key in keys})
    if old.tests.keys() - new.tests.keys() or len(pairs(old, new)) < len(old.facts):
        # New tests are read only if something is missing, which may have moved there.
        new.read(starting.keys() - roots.keys(), starting)
    return old, new


def pairs(old: SuiteState, new: SuiteState) -> dict[int, int]:
    """Maps the index of each old fact to that of the new fact that matches it."""
    return match_assertions([fact.match for fact in old.facts], [fact.match for fact in new.facts])


def _narrow_states(
    before: Mapping[str, str], after: Mapping[str, str], changed: Collection[str]
) -> tuple[SuiteState, SuiteState]:
    """Both states, reduced to the changed files, the tests that use names defined in them, and helpers."""
    paths = [p for p in {**before, **after} if p in changed or not _COLLECTED.fullmatch(p)]
    old, new = (_state({p: side[p] for p in paths if p in side}) for side in (before, after))
    words = find_touched(old.suite, new.suite)
    for path in (before.keys() & after.keys()).difference(paths):
        if not words.isdisjoint(re.findall(r"\w+", before[path])):
            also = _state({path: before[path]})
            for state in (old, new):
                state.suite = SuiteFiles({**state.suite.files, **also.suite.files})
                state.tests |= also.tests
    return old, new


def _state(texts: Mapping[str, str]) -> SuiteState:
    suite = suite_of_texts(texts)
    trees = {path: file.tree for path, file in suite.files.items()}
    tests = {(path, name): line for path, tree in trees.items() for name, line in collected_tests(tree)}
    return SuiteState(suite, tests, handed_down=find_inherited_tests(texts))


def suite_of_texts(texts: Mapping[str, str]) -> SuiteFiles:
    """The suite of those texts that are Python and parse."""
    files = {path: read_file(path, text) for path, text in texts.items() if path.endswith(".py")}
    return SuiteFiles({path: file for path, file in files.items() if file is not None})


def _roots(state: SuiteState, known: Collection[Key] | None) -> dict[Key, File]:
    """Functions that are called from outside of the suite, such as tests.

    With `known`, an unused function counts only if it counted before. Otherwise a test could be disabled by
    making it a function that nobody calls.
    """
    used = _used_names(state)

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


def _unreached_helpers(state: SuiteState, roots: Collection[Key]) -> set[Key]:
    """Helpers that were not reached from any root, so that no assertion of them was read."""
    read = {(fact.path, fact.line) for fact in state.facts}
    return {
        (path, name)
        for path, file in state.suite.files.items()
        for name, function in file.functions.items()
        if (path, name) not in roots
        and not any((path, line) in read for line in range(function.lineno, (function.end_lineno or 0) + 1))
    }


def _used_names(state: SuiteState) -> set[str]:
    """Names that are called, passed on, or requested as a fixture."""
    found: set[str] = set()
    for file in state.suite.files.values():
        for node in nodes_in(file.tree):
            match node:
                case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name) | ast.arg(arg=name):
                    found.add(name)
                case ast.Constant(value=str(name)):
                    found.add(name)
    return found


_DERIVES = re.compile(r"^\s*class \w+\(", re.MULTILINE)


@value
class _Inherited:
    path: str
    name: str
    """The name in the inheriting class, e.g. `TestBox::test_x`."""
    line: int
    origin: str
    """The name in the class that defines it, e.g. `Contract::test_x`, of any file."""
    body: str


def inherited_losses(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    old, new = (list(_inherited_tests(Tests(texts), texts)) for texts in (before, after))
    kept = {(one.path, one.name) for one in new}
    fresh = [one for one in new if (one.path, one.name) not in {(o.path, o.name) for o in old}]
    origins, bodies = Counter(one.origin for one in fresh), Counter(one.body for one in fresh)
    tests = Tests(after)
    for one in old:
        if (one.path, one.name) in kept:
            continue
        if origins[one.origin] > 0 or bodies[one.body] > 0:
            origins[one.origin] -= 1
            bodies[one.body] -= 1
        else:
            yield from _find_loss(one, tests)


def _find_loss(one: _Inherited, tests: Tests) -> Iterator[Loss]:
    """The loss of an inherited test: its class or base is gone, or another test has its name."""
    code = tests.code(one.path)
    own = None if code is None else code.functions.get(one.name)
    if code is None or own is None:
        yield Loss("removed", one.path, one.line, one.name, "", one.name)
    elif not any(_is_super(statement, own.name) for statement in own.body):
        kind = "changed" if any(tests.assertions(code, one.name)) else "dropped"
        yield Loss(kind, one.path, own.lineno, f"{one.name} of {one.origin}", f"def {own.name}", one.name)


def _is_super(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Expr(ast.Call(func=called) | ast.Await(ast.Call(func=called))):
            return ast.unparse(called) == f"super().{name}"
        case _:
            return False


def find_inherited_tests(texts: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Path and name (`Contract::test_x`) of the tests that are collected in an inheriting class."""
    tests = Tests(texts)
    return frozenset((base.path, name) for *_, base, name in _find_inherited(tests, texts))


def _inherited_tests(tests: Tests, texts: Mapping[str, str]) -> Iterator[_Inherited]:
    for code, owner, base, name in _find_inherited(tests, texts):
        short = name.rpartition("::")[2]
        body = "\n".join(map(ast.unparse, base.functions[name].body))
        yield _Inherited(code.path, f"{owner}::{short}", code.classes[owner].lineno, name, body)


def _find_inherited(tests: Tests, texts: Mapping[str, str]) -> Iterator[tuple[Code, str, Code, str]]:
    """Yields each collected class with each test that it inherits: file, class, base's file, test."""
    codes = (tests.code(p) for p, text in texts.items() if p.endswith(".py") and _DERIVES.search(text))
    for code in filter(None, codes):
        for owner, node in code.classes.items():
            if not _is_collected(tests, code, owner):
                continue
            own = _own_names(node)
            for base, name in tests.methods(code, owner):
                short = name.rpartition("::")[2]
                if short.startswith("test") and short not in own:
                    own.add(short)
                    yield code, owner, base, name


def _own_names(node: ast.ClassDef) -> set[str]:
    """The names that a class itself binds, also by `test_x = None`."""
    named = {part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = (part for part in node.body if isinstance(part, ast.Assign))
    return named | {t.id for part in assigned for t in part.targets if isinstance(t, ast.Name)}


def _is_collected(tests: Tests, code: Code, owner: str) -> bool:
    last = owner.rpartition("::")[2]
    names = {base.rpartition(".")[2] for base in tests.bases(code, owner)}
    return last.startswith("Test") or any(name.endswith("TestCase") for name in names)


def files_of_bases(texts: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The files from which the texts may import, and so inherit tests."""
    words = {word for text in texts.values() for word in imported_modules(text)}
    return [p for p in files if p.endswith(".py") and p.rpartition("/")[2].removesuffix(".py") in words]


def imported_modules(text: str) -> frozenset[str]:
    """The last part of the name of each module that a text may import from."""
    return frozenset(
        word.rpartition(".")[2]
        for line in text.splitlines()
        if line.lstrip().startswith(("import ", "from "))
        for word in re.findall(r"[\w.]+", line)
    )


TouchedKey = tuple[str, str]


def find_touched(old: SuiteFiles, new: SuiteFiles) -> set[str]:
    """The names whose meaning changed, directly or through the names that they use."""
    names = {name.rpartition("::")[2] for (_, name), _ in _texts(old).items() ^ _texts(new).items()}
    uses = [
        (name.rpartition("::")[2], words)
        for suite in (old, new)
        for file in suite.files.values()
        for name, words in file.words.items()
    ]
    while more := {name for name, words in uses if not words.isdisjoint(names)} - names:
        names |= more
    return names


def find_untouched(old: SuiteFiles, new: SuiteFiles) -> set[TouchedKey]:
    names = find_touched(old, new)
    was, is_ = _texts(old), _texts(new)
    return {
        key
        for key in _functions(old) & _functions(new)
        if was[key] == is_[key] and old.files[key[0]].words[key[1]].isdisjoint(names)
    }


def _functions(suite: SuiteFiles) -> set[TouchedKey]:
    return {(path, name) for path, file in suite.files.items() for name in file.functions}


def _texts(suite: SuiteFiles) -> Mapping[TouchedKey, str]:
    return {(path, name): text for path, file in suite.files.items() for name, text in file.meanings.items()}
