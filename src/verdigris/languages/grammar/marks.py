"""Where a text carries the marker of a stub: in comments, and in what a body that only raises says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.grammar.trees import COMMENTS, last_line, line_of, parts, said, walk
from verdigris.languages.python.stubmarks import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

_OWN_WORDS = ("todo", "unimplemented")
"""Rust's own words for what is not there yet."""


@value
class Marks:
    marked: frozenset[int]
    """Lines of comments and raising statements that bear the marker."""
    alone: frozenset[int]
    """Lines that hold nothing but a comment."""
    whole: bool = False
    """One marker at the top of a new file covers it."""

    @classmethod
    def of(cls, root: Node, raises: Callable[[Node], bool], *, new: bool) -> Marks:
        marked: set[int] = set()
        comments: set[int] = set()
        code: set[int] = set()
        for node in walk(root):
            lines = range(line_of(node), _end_line(node) + 1)
            if node.type in COMMENTS:
                comments.update(lines)
                marked.update(lines if MARK in said(node) else ())
            elif not node.children:
                code.update(() if _is_said(node) else lines)
            elif raises(node) and (MARK in said(node) or _own_word(node)):
                marked.update(lines)
        top = line_of(parts(root)[0]) if parts(root) else last_line(root) + 1
        return cls(frozenset(marked), frozenset(comments - code), new and any(m < top for m in marked))

    def on(self, start: int, last: int) -> bool:
        """Whether a declaration is marked on its own lines, or right above."""
        above = start - 1
        while above in self.alone:
            above -= 1
        return self.whole or any(above < line <= last for line in self.marked)


def _is_said(node: Node) -> bool:
    """Part of a comment; a doc comment of Rust's has parts that have parts."""
    above = node.parent
    while above is not None and above.type not in COMMENTS:
        above = above.parent if above.type.endswith("doc_comment_marker") else None
    return above is not None


def _end_line(node: Node) -> int:
    """A doc comment of Rust's ends at the beginning of the next line."""
    return last_line(node) - (node.end_point[1] == 0 and last_line(node) > line_of(node))


def _own_word(node: Node) -> bool:
    return node.type == "macro_invocation" and said(node.child_by_field_name("macro")) in _OWN_WORDS
