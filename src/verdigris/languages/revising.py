"""What is left of a suite when the tests that were given up with a reason are not counted."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.testids import split_id

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


def given_up(name: str, revised: Collection[str]) -> bool:
    """`name` is a path or a test id; a folder, file, class, describe or function stands for all in it."""
    return any(
        name == one or name.startswith((f"{one.rstrip('/')}/", f"{one}::", f"{one} › ", f"{one}["))
        for one in revised
    )


def without(texts: Mapping[str, str], revised: Collection[str]) -> dict[str, str]:
    """The texts without the files, classes and functions that were given up."""
    left = {path: text for path, text in texts.items() if not given_up(path, revised)}
    for one in revised:
        where = split_id(one)
        if where.function and where.path in left:
            left[where.path] = _cut(left[where.path], where.function)
    return left


def stands(text: str, function: str) -> bool:
    """Whether a test of this qualified name is still written in its file."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return any(True for _ in _spans(module.body, function.split("::")))


def _cut(text: str, name: str) -> str:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError):
        return text
    lines = text.splitlines(keepends=True)
    for first, last in sorted(_spans(module.body, name.split("::")), reverse=True):
        indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines[first - 1 : last] = [f"{indent}pass\n"]
    return "".join(lines)


def _spans(body: list[ast.stmt], names: list[str]) -> Iterator[tuple[int, int]]:
    for node in body:
        if (
            not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            or node.name != names[0]
        ):
            continue
        if len(names) > 1 and isinstance(node, ast.ClassDef):
            yield from _spans(node.body, names[1:])
        elif len(names) == 1:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield first, node.end_lineno or node.lineno
