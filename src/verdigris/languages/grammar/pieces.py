"""Words of the test tools that a text puts together out of pieces, so that nobody finds them in it."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import first, part, parts, said

if TYPE_CHECKING:
    from tree_sitter import Node

NODES = frozenset({"binary_expression", "call_expression", "macro_invocation"})
_TELLING = re.compile(
    r"vitest|jest|mocha|chai|expect|assert|asymmetricMatch|nextest|prototype|rust_test|node_test|(?<![a-z])test",
    re.IGNORECASE,
)
_STRINGS = frozenset({"string", "interpreted_string_literal", "raw_string_literal", "string_literal"})


def telling(node: Node) -> bool:
    """Whether a telling word goes across the seams of what is put together here."""
    pieces = _pieces(node)
    if len(pieces) < 2:  # noqa: PLR2004 - one piece has no seam
        return False
    seams = set(accumulate(map(len, pieces[:-1])))
    found = _TELLING.finditer("".join(pieces))
    return any(one.start() < seam < one.end() for one in found for seam in seams)


def _pieces(node: Node) -> list[str]:
    match node.type:
        case kind if kind in _STRINGS:
            return [said(node)[1:-1]]
        case "binary_expression" if said(part(node, "operator")) == "+":
            sides = [_pieces(side) for name in ("left", "right") if (side := part(node, name)) is not None]
            return [piece for side in sides for piece in side] if all(sides) else []
        case "call_expression":
            return _joined(node)
        case "macro_invocation" if said(part(node, "macro")) == "concat":
            return _all_of(parts(first(parts(node), "token_tree")))
    return []


def _joined(node: Node) -> list[str]:
    """`["a", "b"].join("")`, and `strings.Join([]string{"a", "b"}, "")`."""
    function, given = part(node, "function"), parts(part(node, "arguments"))
    if not given or said(given[-1])[1:-1]:
        return []
    if said(part(function, "property")) == "join":
        return _all_of(parts(part(function, "object")))
    if said(function) == "strings.Join":
        return _all_of([parts(one)[-1] if parts(one) else one for one in parts(part(given[0], "body"))])
    return []


def _all_of(nodes: list[Node]) -> list[str]:
    found = [_pieces(node) for node in nodes]
    return [piece for one in found for piece in one] if all(found) else []
