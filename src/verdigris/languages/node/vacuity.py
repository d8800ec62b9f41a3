"""Finds matchers that nobody calls and callbacks that nobody waits for, in JavaScript and TypeScript."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import (
    line_of,
    on_one_line,
    part,
    parts,
    short,
    text_of_node,
    tree_of,
    walk,
)
from verdigris.languages.validation import TestFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.validation import TestText

_LATER = frozenset({"then", "catch", "finally"})
_TIMERS = frozenset({"setTimeout", "setImmediate", "setInterval", "queueMicrotask"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_MATCHER = re.compile(r"to[A-Z]\w*")
_ASSERTS = re.compile(r"\b(expect|assert)\b\s*[.(]")


def find_unheard(test: TestText, first: int, last: int) -> Iterator[TestFault]:
    """Between the lines of one test."""
    root, _ = tree_of(test.path, test.texts[test.path].encode("utf-8", "surrogateescape"))
    for node in walk(root):
        if not first <= line_of(node) <= last:
            continue
        shown = short(on_one_line(node))
        if node.type == "expression_statement" and (why := _unfinished(parts(node)[:1])):
            yield TestFault(test.path, line_of(node), f"`{shown}` {why}")
        elif node.type == "call_expression" and _is_late(node):
            yield TestFault(
                test.path, line_of(node), f"`{shown}` asserts after the test has ended: put `await` before it"
            )


def _unfinished(found: list[Node]) -> str:
    for node in found:
        if node.type == "call_expression" and text_of_node(part(node, "function")) == "expect":
            return "has no matcher: it asserts nothing"
        if node.type == "member_expression" and text_of_node(node).startswith("expect("):
            word = text_of_node(part(node, "property"))
            return "is not called: it asserts nothing" if _MATCHER.fullmatch(word) else ""
    return ""


def _is_late(call: Node) -> bool:
    """A callback that asserts, given to what calls it later, with nobody waiting for that."""
    function = part(call, "function")
    later = text_of_node(part(function, "property")) in _LATER or text_of_node(function) in _TIMERS
    given = [one for one in parts(part(call, "arguments")) if one.type in _FUNCTIONS]
    if not later or not any(_ASSERTS.search(text_of_node(one)) for one in given):
        return False
    top = call
    while top.parent is not None and top.parent.type in {"member_expression", "call_expression"}:
        top = top.parent
    return top.parent is not None and top.parent.type == "expression_statement" and not _has_own_end(call)


def _has_own_end(call: Node) -> bool:
    """Inside a function that is given a callback: `done`, `resolve`."""
    above = call.parent
    while above is not None:
        if above.type in _FUNCTIONS and (parts(part(above, "parameters")) or part(above, "parameter")):
            return True
        above = above.parent
    return False
