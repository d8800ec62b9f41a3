"""Other inputs for the tests of a Python file: one literal of every test is another one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.languages.literals import Replaced, other_value
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import parse
from verdigris.languages.python.tests.file import collected_tests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from verdigris.languages.literals import Lot


def replace_inputs(text: str, lot: Lot, tried: Collection[int] = ()) -> tuple[Replaced, ...]:
    """One literal of every test of a Python file, drawn by lot."""
    try:
        tree = parse(text)
    except SyntaxError:
        return ()
    names = {name.rpartition("::")[2] for name, _ in collected_tests(tree)}
    data = text.encode("utf-8", "surrogateescape")
    starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name in names:
            inputs = {
                starts[one.lineno - 1] + one.col_offset: one
                for one in _inputs(node)
                if one.end_lineno is not None
            }
            if inputs:
                start = lot.choice([at for at in inputs if at not in tried] or list(inputs))
                one = inputs[start]
                end = starts[(one.end_lineno or 1) - 1] + (one.end_col_offset or 0)
                was = data[start:end].decode("utf-8", "surrogateescape")
                found.append(Replaced(one.lineno, start, end, was, repr(other_value(one.value, lot))))
    return tuple(found)


def _inputs(test: Function) -> Iterator[ast.Constant]:
    """What a test gives to the code: arguments of calls, and the rows of its table."""
    stack: list[tuple[ast.AST, bool]] = [(one, False) for one in test.body if not is_docstring(one)]
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and last_name(decorator.func) == "parametrize":
            stack += ((row, True) for row in decorator.args[1:2])
    while stack:
        node, given = stack.pop()
        match node:
            case ast.Constant(value=bool() | None):
                continue
            case ast.Constant(value=int() | float() | str()) if given:
                yield node
            case ast.JoinedStr() | ast.keyword(arg="match"):
                continue
            case ast.Call(func=func, args=args, keywords=keywords):
                stack += [(func, given), *((one, True) for one in (*args, *keywords))]
            case _:
                stack += ((child, given) for child in ast.iter_child_nodes(node))
