"""Tests that ask something else, in languages that a grammar reads."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import COMMENTS, line_of, part, said, tree_of
from verdigris.languages.otherinputs import Replaced, other_value
from verdigris.languages.readings import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.otherinputs import Lot

_NUMBERS = frozenset({"number", "int_literal", "integer_literal"})
_TEXTS = frozenset({"string", "interpreted_string_literal", "string_literal"})
_GIVING = frozenset({"arguments", "argument_list", "literal_value"})
_TELLING = re.compile(
    r"\w+\.(Error|Errorf|Fatal|Fatalf|Log|Logf|Skip|Skipf|Run)|(describe|it|test|suite|context)(\.\w+)*"
)
"""Calls whose own literals are names and messages; `go vet` refuses to build a message of another form."""
_BODIES = frozenset({"statement_block", "block"})


def replaced_by_grammar(path: str, data: bytes, lot: Lot) -> tuple[Replaced, ...]:
    """One literal of every test, drawn by lot."""
    root, fault = tree_of(path, data)
    if fault is not None:
        return ()
    inputs = list(_inputs(root))
    found: dict[int, Replaced] = {}
    for test in read(path, data).tests:
        mine = [node for node in inputs if test.line <= line_of(node) <= test.last]
        if mine and (one := _other(lot.choice(mine), lot)) is not None:
            found[one.start] = one
    return tuple(found.values())


def _inputs(root: Node) -> Iterator[Node]:
    """Inside a body, what is given to a call: in a macro of Rust, what stands in a bracket within its own."""
    stack: list[tuple[Node, int, bool]] = [(root, 0, False)]
    while stack:
        node, depth, given = stack.pop()
        if node.type in COMMENTS or node.type == "template_string":
            continue
        if node.type in _NUMBERS | _TEXTS:
            if given:
                yield node
            continue
        if node.type in _BODIES:
            depth, given = depth + 1, False
        elif node.type in _GIVING:
            called = part(node.parent, "function") if node.parent is not None else None
            given = depth > 0 and _TELLING.fullmatch(said(called)) is None
        elif node.type == "token_tree":
            given = node.parent is not None and node.parent.type == "token_tree"
        stack += ((child, depth, given) for child in reversed(node.children))


def _other(node: Node, lot: Lot) -> Replaced | None:
    text = said(node)
    if node.type in _NUMBERS:
        if not text.isdigit() or (len(text) > 1 and text[0] == "0"):
            return None
        # Where a type has no sign, less than nothing does not compile.
        now = str(other_value(int(text), lot)) if int(text) > 0 else "1"
    else:
        inner = text[1:-1]
        if text[:1] not in "\"'" or "\\" in inner:
            return None
        told = json.dumps(other_value(inner, lot), ensure_ascii=False)
        now = told if text[0] == '"' else f"'{told[1:-1]}'"
    return Replaced(line_of(node), node.start_byte, node.end_byte, text, now)
