"""Comments above test functions, and the ids that some of them give."""

from __future__ import annotations

import ast
import re
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from verdigris.core.test_ids import MARK, REACH
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_COMMENT = re.compile(r"#\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class Annotation:
    slug: str
    line: int


@value
class FunctionComment:
    line: int
    text: str
    function: str
    """The qualified name of the function that it stands above; empty where there is none within reach."""


def read_annotations(text: str) -> Mapping[str, Annotation]:
    """Per qualified function name. A comment belongs to the next definition only."""
    if MARK not in text:
        return {}
    marked = ((one, _COMMENT.match(one.text)) for one in read_comments(text) if one.function)
    return {one.function: Annotation(mark[1], one.line) for one, mark in marked if mark}


def read_comments(text: str) -> tuple[FunctionComment, ...]:
    """In the order of the text; none of a text that does not parse."""
    try:
        definitions = sorted(_definitions(ast.parse(text).body, ""))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found = []
    for line, comment, is_alone in _comments(text):
        owner = next((d for d in definitions if d.last > line), None) if is_alone else None
        is_near = owner is not None and owner.is_function and owner.line - line <= REACH
        found.append(FunctionComment(line, comment, owner.name if owner is not None and is_near else ""))
    return tuple(found)


class _Definition(NamedTuple):
    line: int
    """Of the first decorator, where there is one."""
    name: str
    is_function: bool
    last: int
    """The line of its name."""


def _definitions(body: Iterable[ast.AST], prefix: str) -> Iterator[_Definition]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _Definition(_first_line(node), prefix + node.name, is_function=True, last=node.lineno)
            case ast.ClassDef():
                yield _Definition(_first_line(node), prefix + node.name, is_function=False, last=node.lineno)
                yield from _definitions(node.body, f"{prefix}{node.name}::")
            case ast.stmt() | ast.ExceptHandler():
                yield from _definitions(ast.iter_child_nodes(node), prefix)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _comments(text: str) -> Iterator[tuple[int, str, bool]]:
    """Real comments, for a string may well speak of annotations; and whether one has its line alone."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, not token.line[: token.start[1]].strip()
