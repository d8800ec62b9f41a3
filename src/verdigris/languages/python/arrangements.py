"""Changes what a Python test sets up, in its own body and in its fixtures."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.findings import Mutant, TestText
from verdigris.languages.grammar.trees import short
from verdigris.languages.probes import ByteEdit, apply_edits
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.tests.code import Files, own_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.languages.literals import Chance
    from verdigris.languages.protocol import Language
    from verdigris.languages.python.stubs.forms import Function
    from verdigris.languages.python.tests.code import Code

_TRIVIAL = frozenset({"0", "1", "None", "True", "False", "''", "b''", "[]", "{}", "()", "0.0", "set()"})
"""Answers that many inputs may rightly have."""
_STEPS, _DRAWS = 2, 2
"""How many steps are left out, and how often a literal is drawn: near values may have the same answer."""


def find_arrangements(
    language: Language, texts: Mapping[str, bytes], native: tuple[str, str], lot: Chance
) -> Iterator[Mutant]:
    """`native`: path and function of the test."""
    path, name = native
    shown = {at: data.decode("utf-8", "surrogateescape") for at, data in texts.items()}
    files = Files(shown)
    code = files.code(path)
    function = None if code is None else code.functions.get(name)
    if code is None or function is None:
        return
    if _TRIVIAL.issuperset(language.validation.expected_literals(TestText(path, name, shown))):
        return
    yield from (
        _without(there.path, texts[there.path], step) for there, step in _steps(files, code, function)
    )
    last, tried = function.end_lineno or function.lineno, set[int]()
    for _ in range(_DRAWS):
        replaced = language.liveness.other_inputs(path, texts[path], lot, tried)
        for one in (each for each in replaced if function.lineno <= each.line <= last):
            tried.add(one.start)
            if "".join(one.text.split()) == "".join(one.was.split()):
                continue  # many may rightly not care for blanks
            what = f"with `{one.text}` instead of `{one.was}`"
            yield Mutant(path, one.line, what, apply_edits(texts[path], [one]), kind="arrange")


def _steps(files: Files, code: Code, function: Function) -> Iterator[tuple[Code, ast.Expr]]:
    """Calls for their effect, before the last assertion of the test and in the fixtures that it asks for."""
    last = max((node.lineno for node in own_nodes(function) if isinstance(node, ast.Assert)), default=0)
    found: list[tuple[Code, ast.Expr]] = []
    waiting, seen = [(code, function, last)], {id(function)}
    while waiting:
        there, owner, end = waiting.pop()
        effects = (node for node in own_nodes(owner) if isinstance(node, ast.Expr) and node.lineno < end)
        found += ((there, node) for node in effects if _takes_effect(node.value))
        fixtures = (files.fixture(there, argument.arg) for argument in owner.args.args)
        new = [fixture for fixture in fixtures if fixture is not None and id(fixture[1]) not in seen]
        seen |= {id(fixture) for _, fixture in new}
        waiting += ((its, fixture, (fixture.end_lineno or 0) + 1) for its, fixture in new)
    yield from found[:_STEPS]


def _takes_effect(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and not last_name(node.func).lower().startswith(("assert", "fail"))


def _without(path: str, data: bytes, step: ast.Expr) -> Mutant:
    lines = data.splitlines(keepends=True)
    start = sum(map(len, lines[: step.lineno - 1])) + step.col_offset
    end = sum(map(len, lines[: (step.end_lineno or step.lineno) - 1])) + (step.end_col_offset or 0)
    what = f"without `{short(' '.join(data[start:end].decode('utf-8', 'replace').split()))}`"
    return Mutant(path, step.lineno, what, apply_edits(data, [ByteEdit(start, end, "pass")]), kind="arrange")
