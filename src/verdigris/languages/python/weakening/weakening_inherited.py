"""Tests that a class no longer has from the classes it is made of."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.testcode import Tests
from verdigris.languages.python.weakening.weakening_losses import Loss

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.languages.python.testtext import Code

_DERIVES = re.compile(r"^\s*class \w+\(", re.MULTILINE)


@value
class _Inherited:
    path: str
    name: str
    """As `TestBox::test_x`, of the class that has it from another."""
    line: int
    origin: str
    """As `Contract::test_x`, whichever file that stands in."""
    body: str


def inherited_losses(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Loss]:
    old, new = (list(_inherited(Tests(texts), texts)) for texts in (before, after))
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
            yield from _lost(one, tests)


def _lost(one: _Inherited, tests: Tests) -> Iterator[Loss]:
    """It is gone with its class or its base; or another test has taken its name."""
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


def handed_down(texts: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Path and `Contract::test_x` of tests that are collected in other classes than their own."""
    tests = Tests(texts)
    return frozenset((base.path, name) for *_, base, name in _inheriting(tests, texts))


def _inherited(tests: Tests, texts: Mapping[str, str]) -> Iterator[_Inherited]:
    for code, owner, base, name in _inheriting(tests, texts):
        short = name.rpartition("::")[2]
        body = "\n".join(map(ast.unparse, base.functions[name].body))
        yield _Inherited(code.path, f"{owner}::{short}", code.classes[owner].lineno, name, body)


def _inheriting(tests: Tests, texts: Mapping[str, str]) -> Iterator[tuple[Code, str, Code, str]]:
    """A class that is collected, and a test that it has from another."""
    codes = (tests.code(p) for p, text in texts.items() if p.endswith(".py") and _DERIVES.search(text))
    for code in filter(None, codes):
        for owner, node in code.classes.items():
            if not _is_collected(tests, code, owner):
                continue
            own = _names(node)
            for base, name in tests.methods(code, owner):
                short = name.rpartition("::")[2]
                if short.startswith("test") and short not in own:
                    own.add(short)
                    yield code, owner, base, name


def _names(node: ast.ClassDef) -> set[str]:
    """All that a class itself gives a meaning to, `test_x = None` too."""
    named = {part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    assigned = (part for part in node.body if isinstance(part, ast.Assign))
    return named | {t.id for part in assigned for t in part.targets if isinstance(t, ast.Name)}


def _is_collected(tests: Tests, code: Code, owner: str) -> bool:
    last = owner.rpartition("::")[2]
    names = {base.rpartition(".")[2] for base in tests.bases(code, owner)}
    return last.startswith("Test") or any(name.endswith("TestCase") for name in names)


def imported(text: str) -> frozenset[str]:
    """Last parts of the names of all modules that a text may import from."""
    return frozenset(
        word.rpartition(".")[2]
        for line in text.splitlines()
        if line.lstrip().startswith(("import ", "from "))
        for word in re.findall(r"[\w.]+", line)
    )
