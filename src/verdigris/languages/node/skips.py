"""Marks a test of vitest, jest, mocha or node:test as skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.test_ids import REACH
from verdigris.languages.grammar.skips import indent_at, line_end
from verdigris.languages.grammar.trees import COMMENTS, line_of, part, parts, text_of_node, walk
from verdigris.languages.literals import one_line, quote_line
from verdigris.languages.probes import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

    from verdigris.languages.grammar.suite import TestPlace

_TESTS = frozenset({"it", "test", "specify"})
_OFF = frozenset({"xit", "xtest", "xspecify"})
_PLAIN = frozenset({"each", "for", "concurrent", "sequential"})
"""Words behind a test's that leave it a test which runs."""
_NODE_TEST = "node:test"
_NAME_AND_FUNCTION = 2


def skip_edits(place: TestPlace, data: bytes, why: str) -> tuple[Edit, ...] | None:
    words = _read_words(part(place.node, "function"))
    if words is None:
        return None
    names = [text_of_node(word) for word in words]
    if "skip" in names or names[0] in _OFF:
        return ()
    if names[0] not in _TESTS or not _PLAIN.issuperset(names[1:]):
        return None
    given = parts(part(place.node, "arguments"))
    if len(words) == 1 and _takes_options(given) and _is_node_test(place.node):
        return _set_option(given, why)
    # Jest knows `test.concurrent.skip`, and not the other way round.
    word = next((word for word in words if text_of_node(word) == "concurrent"), words[0])
    return (Edit(word.end_byte, word.end_byte, ".skip"), _comment(place.node, given, data, why))


def _read_words(function: Node | None) -> list[Node] | None:
    """The names of `test.concurrent.each(…)`; None where it does not begin with a name."""
    found: list[Node] = []
    while function is not None:
        match function.type:
            case "member_expression":
                word = part(function, "property")
                found += [word] if word is not None else []
                function = part(function, "object")
            case "call_expression":
                function = part(function, "function")
            case "identifier":
                return [function, *reversed(found)]
            case _:
                return None
    return None


def _is_node_test(node: Node) -> bool:
    """Whether its file takes tests from node:test."""
    root = node
    while root.parent is not None:
        root = root.parent
    texts = (text_of_node(one)[1:-1] for one in walk(root) if one.type == "string")
    return _NODE_TEST in texts


def _takes_options(given: list[Node]) -> bool:
    """Whether they are written out between name and function, or can be."""
    return len(given) == _NAME_AND_FUNCTION or (len(given) > 1 and given[1].type == "object")


def _set_option(given: list[Node], why: str) -> tuple[Edit, ...] | None:
    option, second, inside = f"skip: {quote_line(why)}", given[1], parts(given[1])
    if second.type != "object":
        return (Edit(second.start_byte, second.start_byte, f"{{ {option} }}, "),)
    known = [part(pair, "value") for pair in inside if text_of_node(part(pair, "key")) == "skip"]
    if known:
        return () if known[-1] is not None and known[-1].type in {"string", "true"} else None
    if not inside:
        return (Edit(second.start_byte, second.end_byte, f"{{ {option} }}"),)
    at = inside[0].start_byte
    return (Edit(at, at, f"{option}, "),)


def _comment(node: Node, given: list[Node], data: bytes, why: str) -> Edit:
    """On a line of its own above the test and what is told of it; else before its name."""
    top = node.parent if node.parent is not None and node.parent.type == "expression_statement" else node
    indent = indent_at(data, top.start_byte)
    if indent is None:
        at = given[0].start_byte
        return Edit(at, at, f"/* {one_line(why).replace('*/', '* /')} */ ")
    while (above := top.prev_sibling) is not None and _is_near_comment(above, top, data):
        top = above
    at = top.start_byte
    return Edit(at, at, f"// {one_line(why)}{line_end(data)}{indent_at(data, at)}")


def _is_near_comment(above: Node, below: Node, data: bytes) -> bool:
    """A mark within reach of its test must stay so: nothing comes between them."""
    return (
        above.type in COMMENTS
        and line_of(below) - line_of(above) <= REACH
        and indent_at(data, above.start_byte) is not None
    )
