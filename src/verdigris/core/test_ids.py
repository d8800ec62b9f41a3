"""Test ids: their parts, their annotations, and the nearest match of a mistyped one."""

from __future__ import annotations

import ast
import re
import shlex
import tokenize
from typing import TYPE_CHECKING, NamedTuple

from verdigris.core.languages import case_mark, file_end
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


REACH = 3
"""Lines above a test within which its annotation stands."""
MARK = "@tdd-id"
_COMMENT = re.compile(r"#\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class NativeId:
    path: str
    function: str
    """Qualified, e.g. `TestA::test_x`; empty for a whole file."""
    case: str
    """With what begins it, e.g. `[1-a]` or `/sub`; empty when there are none."""


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


def split_id(test_id: str) -> NativeId:
    """In Python brackets hold a case, in Go a `/` begins one; elsewhere both are of the name."""
    end = file_end(test_id)
    if end < 0:
        return NativeId(test_id, "", "")
    path, name = test_id[:end], test_id[end + 2 :]
    opens = case_mark(path)
    function, between, case = name.partition(opens) if opens else (name, "", "")
    return NativeId(path, function, between + case)


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


def named_tests(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Native ids that a word means which is none: a bare name, or a dotted one as unittest prints it."""
    return tuple(i for i in known if word in _other_names(i))


def _other_names(native: str) -> set[str]:
    """Without its file; without its case or class; with dots."""
    test = split_id(native)
    full = f"{test.function}{test.case}"
    stem = test.path.rpartition(".")[0].replace("/", ".")
    dotted = f"{stem}.{test.function.replace('::', '.')}"
    shorter = {name.rpartition(between)[2] for name in (full, test.function) for between in ("::", " › ")}
    return {full, test.function, *shorter, dotted, dotted.partition(".")[2]}


def nearest(unknown: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three ids, best first: what begins so, the same name elsewhere, then the most alike."""
    import difflib

    ids = sorted(set(known))
    name = split_id(unknown).function or unknown
    begun = [i for i in ids if i.startswith(unknown)]
    same = [i for i in ids if split_id(i).function.endswith(name) or split_id(i).path.endswith(name)]
    alike = difflib.get_close_matches(unknown, ids, n=3, cutoff=0.5)
    return tuple(dict.fromkeys([*begun, *same, *alike]))[:3]


def shell_words(*names: str) -> str:
    """As a shell takes them: names of tests hold blanks and signs."""
    return shlex.join(names)


def some(names: Sequence[str]) -> str:
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
