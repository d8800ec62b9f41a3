"""Assigns the comments of a file to the tests below them, and finds the ids that comments give to tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import MARK, REACH
from verdigris.core.value import value
from verdigris.languages.findings import IdMark, TestComment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MARK = re.compile(rf"(?://|--|[^\w\s/*@])\s*{MARK}:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class Comment:
    """One line of a comment."""

    line: int
    text: str
    """The text with the signs of the comment."""
    is_alone: bool
    """True if nothing stands before the comment on its line."""


@value
class Declared:
    """A declaration, to which the comments above it belong."""

    line: int
    """The line of its first decorator or attribute, or of the declaration itself."""
    last: int
    """The line of its name."""
    test: object | None
    """As in `IdMark`; None for a declaration that is no test, e.g. of a class."""


def assign_comments(comments: Iterable[Comment], declared: Sequence[Declared]) -> tuple[TestComment, ...]:
    """Each comment belongs to the next declaration, if that is near enough. `declared`: in their order."""
    return tuple(TestComment(one.line, one.text, _find_test(one, declared)) for one in comments)


def _find_test(comment: Comment, declared: Sequence[Declared]) -> object | None:
    below = next((one for one in declared if one.last > comment.line), None) if comment.is_alone else None
    return below.test if below is not None and below.line - comment.line <= REACH else None


def comment_lines(line: int, text: str, *, is_alone: bool) -> Iterator[Comment]:
    """Splits a comment in C's form into lines; lines of a block get the block's opening sign."""
    sign = "/* " if text.startswith("/*") else ""
    lines = (one.strip().removeprefix(sign.strip()).strip() for one in text.rstrip().split("\n"))
    return (Comment(number, sign + one, is_alone) for number, one in enumerate(lines, line))


def marks_of(comments: Iterable[TestComment]) -> tuple[IdMark, ...]:
    """Finds `// @tdd-id: slug` and its like; of several marks of one test, the nearest counts."""
    matches = ((one, _MARK.match(one.text)) for one in comments if one.test is not None)
    marks = (IdMark(match[1], one.line, one.test) for one, match in matches if match)
    return tuple({mark.test: mark for mark in marks}.values())
