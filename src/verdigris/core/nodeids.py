"""How a JavaScript or TypeScript test is called: its native id, and the slug of an annotation above it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.nodetext import declarations, line_comments
from verdigris.core.report import Place
from verdigris.core.testids import REACH, Duplicate
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from verdigris.core.nodetext import Declaration
    from verdigris.core.report import TestReport, TestResult

SEPARATOR = " › "
_FILE_END = re.compile(r"\.[cm]?[jt]sx?(?=::)")
_MARK = re.compile(r"//\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")
_SLASHED = re.compile(r"(\\*)›")


@value
class NodeId:
    path: str
    names: tuple[str, ...]
    """Of the describes, outermost first, and of the test; empty for a whole file or folder."""


@value
class Annotated:
    slug: str
    line: int
    """Of the comment."""
    test: Declaration


def node_id(path: str, names: Sequence[str]) -> str:
    r"""A `›` inside a name is written `\›`, so that `split_node_id` finds the same names again."""
    return f"{path}::{SEPARATOR.join(_SLASHED.sub(_escaped, name) for name in names)}"


def split_node_id(test_id: str) -> NodeId:
    """A path may hold `::` as well; only a script's ending ends it for certain."""
    found = _FILE_END.search(test_id)
    end = found.end() if found else test_id.find("::")
    if end < 0:
        return NodeId(test_id, ())
    names = test_id[end + 2 :].split(SEPARATOR)
    return NodeId(test_id[:end], tuple(_SLASHED.sub(_unescaped, name) for name in names))


def _escaped(found: re.Match[str]) -> str:
    return found[1] * 2 + "\\›"


def _unescaped(found: re.Match[str]) -> str:
    return found[1][: len(found[1]) // 2] + "›"


def annotated(text: str) -> tuple[Annotated, ...]:
    """`// @tdd-id: slug` on its own line belongs to the next declaration, if that is a test within reach."""
    if "@tdd-id" not in text:
        return ()
    declared = declarations(text)
    found = []
    for line, comment in line_comments(text):
        mark = _MARK.match(comment)
        owner = next((d for d in declared if d.line > line), None)
        if mark and owner is not None and owner.is_test and owner.line - line <= REACH:
            found.append(Annotated(mark[1], line, owner))
    return tuple(found)


def apply(report: TestReport, texts: Mapping[str, str]) -> TestReport:
    """The report under the ids that annotations in `texts` (by path) give."""
    marks = {path: annotated(text) for path, text in texts.items()}
    return replace(report, results=tuple(_renamed(result, marks) for result in report.results))


def _renamed(result: TestResult, marks: Mapping[str, tuple[Annotated, ...]]) -> TestResult:
    native = split_node_id(result.native_id)
    for mark in marks.get(native.path, ()):
        if _is_of(mark.test, native.names, result.line):
            case = f"[{native.names[-1]}]" if mark.test.is_each else ""
            return replace(result, id=mark.slug + case, id_source="annotation")
    return result


def _is_of(test: Declaration, names: tuple[str, ...], line: int) -> bool:
    """By name where it is written down; the cases of `.each`, and computed names, by their line."""
    if test.names is not None and not test.is_each:
        return test.names == names
    return test.line <= line <= test.last_line


def named(text: str, slug: str) -> tuple[str, ...] | None:
    """The names of the test that bears the slug; None where only a run can tell."""
    return next((m.test.names for m in annotated(text) if m.slug == slug and not m.test.is_each), None)


def duplicates(texts: Mapping[str, str]) -> tuple[Duplicate, ...]:
    seen: dict[str, Place] = {}
    found = []
    for slug, here in _places(texts):
        first = seen.setdefault(slug, here)
        if first != here:
            found.append(Duplicate(slug, first, here))
    return tuple(found)


def _places(texts: Mapping[str, str]) -> Iterator[tuple[str, Place]]:
    for path in sorted(texts):
        for mark in annotated(texts[path]):
            yield mark.slug, Place(path, mark.line)
