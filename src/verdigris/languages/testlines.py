"""Which test stands at a line of a file, and its text: in Python by its own tree, elsewhere by a grammar."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.declared import makes
from verdigris.core.languages import PYTHON, language_of
from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.languages.python.parsed import parse
from verdigris.languages.python.testfile import collected
from verdigris.languages.reading import is_read
from verdigris.languages.testreading import read_tests

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from verdigris.languages.python.stubforms import Function


@value
class WrittenTest:
    name: str
    """As a test id has it, without its file."""
    first: int
    last: int
    """Lines, with decorators."""


def find_test_at(path: str, text: str, line: int, known: Collection[str]) -> WrittenTest | None:
    """`known`: native ids that runs reported; in a file that nothing here reads they are all there is."""
    holding = [test for test in written_tests(path, text, known) if test.first <= line <= test.last]
    return max(holding, key=lambda test: test.first, default=None)


def text_of_test(path: str, text: str, name: str) -> str | None:
    """None where it is not written there any more."""
    found = next(
        (test for test in written_tests(path, text, (f"{path}::{name}",)) if test.name == name), None
    )
    return None if found is None else "\n".join(text.splitlines()[found.first - 1 : found.last])


def is_written(path: str, text: str, native: str) -> bool:
    """Whether the text holds the test of that id; of a text that does not parse nobody can tell otherwise."""
    if not _parses(path, text):
        return True
    return any(is_made_by(path, test.name, native) for test in written_tests(path, text, (native,)))


def _parses(path: str, text: str) -> bool:
    if language_of(path) != PYTHON:
        return not is_read(path) or read_tests({path: text})[path].whole
    try:
        parse(text)
    except SyntaxError:
        return False
    return True


def is_made_by(path: str, name: str, native: str) -> bool:
    """Whether a reported test is the written one, or one of its cases."""
    where = split_id(native)
    if where.path != path:
        return False
    if is_read(path):
        return makes(language_of(path), name, native[len(path) + 2 :])
    return name in {where.function, native[len(path) + 2 :]}


def written_tests(path: str, text: str, known: Iterable[str]) -> Iterator[WrittenTest]:
    names = {split_id(native).function for native in known if split_id(native).path == path}
    if language_of(path) == PYTHON:
        yield from _in_python(text, names)
    elif is_read(path):
        reading = read_tests({path: text})[path]
        yield from (WrittenTest(test.name, test.line, test.last) for test in reading.tests)
    else:
        end = len(text.splitlines()) or 1
        yield from (WrittenTest(name, 1, end) for name in sorted(names))


def _in_python(text: str, known: Collection[str]) -> Iterator[WrittenTest]:
    """Also those that only a project's own settings make tests, where a run has reported them."""
    try:
        tree = parse(text)
    except SyntaxError:
        return
    names = {*(name for name, _ in collected(tree)), *known}
    stack: list[tuple[ast.stmt, str]] = [(node, "") for node in tree.body]
    while stack:
        node, scope = stack.pop()
        match node:
            case ast.ClassDef(name=name, body=body):
                stack += ((child, f"{scope}{name}::") for child in body)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if f"{scope}{node.name}" in names:
                    yield _spanned(f"{scope}{node.name}", node)
            case ast.If(body=body, orelse=rest) | ast.Try(body=body, orelse=rest):
                stack += ((child, scope) for child in (*body, *rest))


def _spanned(name: str, node: Function) -> WrittenTest:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return WrittenTest(name, first, node.end_lineno or node.lineno)
