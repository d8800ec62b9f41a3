"""How a test is called: its native id, the slug of an annotation, and what a mistyped id may have meant."""

from __future__ import annotations

import ast
import re
import tokenize
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.report import Place, TestReport, TestResult
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REACH = 3
"""Lines above a test within which its annotation stands."""
_MARK = "@tdd-id"
_COMMENT = re.compile(r"#\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class NativeId:
    path: str
    function: str
    """Qualified, e.g. `TestA::test_x`; empty for a whole file."""
    case: str
    """With its brackets, e.g. `[1-a]`; empty when there are no parameters."""


@value
class Annotation:
    slug: str
    line: int


@value
class Duplicate:
    slug: str
    first: Place
    second: Place


def split_id(test_id: str) -> NativeId:
    """A path may hold `::` or `[` as well; only a Python file ends it for certain."""
    end = test_id.find(".py::")
    end = end + len(".py") if end >= 0 else test_id.find("::")
    if end < 0:
        return NativeId(test_id, "", "")
    function, bracket, case = test_id[end + 2 :].partition("[")
    return NativeId(test_id[:end], function, bracket + case)


def annotated(text: str) -> Mapping[str, Annotation]:
    """Per qualified function name. A comment belongs to the next definition only."""
    if _MARK not in text:
        return {}
    try:
        definitions = sorted(_definitions(ast.parse(text).body, ""))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, Annotation] = {}
    for line, slug in _comments(text):
        owner = next((d for d in definitions if d.line > line), None)
        if owner is not None and owner.is_function and owner.line - line <= REACH:
            found[owner.name] = Annotation(slug, line)
    return found


@dataclass(frozen=True, slots=True, order=True)
class _Definition:
    line: int
    """Of the first decorator, where there is one."""
    name: str
    is_function: bool


def _definitions(body: Iterable[ast.AST], prefix: str) -> Iterator[_Definition]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield _Definition(_first_line(node), prefix + node.name, is_function=True)
            case ast.ClassDef():
                yield _Definition(_first_line(node), prefix + node.name, is_function=False)
                yield from _definitions(node.body, f"{prefix}{node.name}::")
            case ast.stmt() | ast.ExceptHandler():
                yield from _definitions(ast.iter_child_nodes(node), prefix)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Real comments on lines of their own: a string may well speak of annotations."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            mark = _COMMENT.match(token.string)
            if mark:
                yield token.start[0], mark.group(1)


def apply(report: TestReport, texts: Mapping[str, str]) -> TestReport:
    """The report under the ids that annotations in `texts` (by path) give; a case keeps its brackets."""
    slugs = {path: annotated(text) for path, text in texts.items()}
    return replace(report, results=tuple(_renamed(result, slugs) for result in report.results))


def _renamed(result: TestResult, slugs: Mapping[str, Mapping[str, Annotation]]) -> TestResult:
    native = split_id(result.native_id)
    annotation = slugs.get(native.path, {}).get(native.function)
    if annotation is None:
        return result
    return replace(result, id=annotation.slug + native.case, id_source="annotation")


def duplicates(texts: Mapping[str, str]) -> tuple[Duplicate, ...]:
    seen: dict[str, Place] = {}
    found = []
    for path in sorted(texts):
        for annotation in sorted(annotated(texts[path]).values(), key=lambda a: a.line):
            here = Place(path, annotation.line)
            first = seen.setdefault(annotation.slug, here)
            if first != here:
                found.append(Duplicate(annotation.slug, first, here))
    return tuple(found)


def refuse_duplicates(texts: Mapping[str, str]) -> None:
    for twice in duplicates(texts):
        first, second = (f"{place.path}:{place.line}" for place in (twice.first, twice.second))
        raise UserError(
            f"the test id {twice.slug} is used twice: {first} and {second}",
            hint=f"give one of them another `# @tdd-id:`, e.g. {twice.slug}-2",
        )


def nearest(unknown: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three ids, best first: the same name elsewhere, then the most alike."""
    import difflib

    ids = sorted(set(known))
    name = split_id(unknown).function or unknown
    same = [i for i in ids if split_id(i).function.endswith(name) or split_id(i).path.endswith(name)]
    alike = difflib.get_close_matches(unknown, ids, n=3, cutoff=0.5)
    return tuple(dict.fromkeys([*same, *alike]))[:3]
