"""Reads the tests of a file in any language."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.languages import PYTHON, language_of
from verdigris.core.test_ids import makes, split_id
from verdigris.core.value import value
from verdigris.languages.assertions import TestFile
from verdigris.languages.grammar.weakening import is_given_up
from verdigris.languages.python.syntax import parse
from verdigris.languages.python.test_file import collected
from verdigris.languages.python.test_file import read as read_python
from verdigris.languages.registry import is_read

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.assertions import Reading
    from verdigris.languages.python.stub_forms import Function


def read_tests(texts: Mapping[str, str]) -> dict[str, Reading]:
    """Of files that `is_read`."""
    from verdigris.languages.registry import read_all

    return read_all({path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()})


def still_written(texts: Mapping[str, str], unseen: Iterable[str], seen: Collection[str]) -> list[str]:
    """Of the tests that no run tells of (native ids), those whose text stands in its file.

    Where one text makes several, the others speak for it: a row of its table may be another now.
    """
    readings = read_tests({path: text for path, text in texts.items() if is_read(path)})
    found = []
    for native in unseen:
        path = split_id(native).path
        if path not in readings:
            if stands(texts.get(path, ""), split_id(native).function):
                found.append(native)
            continue
        others = [_name(each) for each in seen if split_id(each).path == path]
        makers = [t for t in readings[path].tests if makes(language_of(path), t.name, _name(native))]
        told = (makes(language_of(path), test.name, other) for test in makers for other in others)
        if makers and not any(told):
            found.append(native)
    return found


def _name(native: str) -> str:
    """Without its file."""
    return native[len(split_id(native).path) + 2 :]


@value
class TestReader:
    """For `languages.python.assertions.kept`."""

    __test__ = False

    revised: tuple[str, ...] = ()
    """Tests that were given up with a reason."""

    def reads(self, path: str) -> bool:
        return path.endswith(".py") or is_read(path)

    def read(self, path: str, text: str) -> TestFile:
        if not is_read(path):
            return read_python(text)
        reading = read_tests({path: text})[path]
        if not reading.whole:
            raise SyntaxError(path)
        file = reading.as_test_file()
        return TestFile(
            tuple(a for a in file.assertions if not is_given_up(path, a.scope, self.revised)),
            tuple(t for t in file.tests if not is_given_up(path, t[0], self.revised)),
            file.skips,
        )


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
