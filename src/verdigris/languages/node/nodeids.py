"""How a JavaScript or TypeScript test is called: its native id, and the slug of an annotation above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.languages import file_end
from verdigris.core.testids import REACH
from verdigris.core.value import value
from verdigris.languages.node.nodetext import declarations, line_comments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.languages.node.nodetext import Declaration

SEPARATOR = " › "
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
    end = file_end(test_id)
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


def case(test: Declaration, names: tuple[str, ...], line: int) -> str | None:
    """Of a table of cases the name of one, in brackets; None where these are names of another test."""
    if not _is_of(test, names, line):
        return None
    return f"[{names[-1]}]" if test.is_each else ""


def _is_of(test: Declaration, names: tuple[str, ...], line: int) -> bool:
    """By name where it is written down; the cases of `.each`, and computed names, by their line."""
    if test.names is not None and not test.is_each:
        return test.names == names
    return test.line <= line <= test.last_line
