"""`Expectations`: how a language writes assertions. Also finds the values behind a name, as in a table."""

# A default takes the arguments of the methods that override it:
# ruff: noqa: ARG002

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from verdigris.core.value import value
from verdigris.languages.grammar.conditions import last_name
from verdigris.languages.grammar.trees import COMMENTS, part, parts, text_of_node, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages.probes import ByteEdit, ProbeChange


@value
class Asserted:
    """What an assertion, or one part of it, asserts."""

    kind: str
    """`equal`, `unknown` (equal, with a tolerance that is not known), `near` (a number with a tolerance),
    `holds` (a list that holds a value), `named` (a class), `pattern` (a part of a text, or an item), `given`
    (the arguments of a call), `beyond` (an order with a number), `output`, or `true`."""
    node: Node
    """What is asserted: `Expectations.opposite_edits` turns it into its opposite."""
    sides: tuple[Sequence[Node], ...] = ()
    """What is compared, the most likely expected value first; for other kinds, what is changed."""
    slack: float = 0.0
    """The tolerance of numbers."""
    others: tuple[str, ...] = ()
    """What can stand instead of a class."""
    is_free: bool = False
    """True if a value of any other type may stand on either side."""


class Expectations:
    """How a language writes what assertions expect. A default is for a language without such a form."""

    opposite_words: ClassVar[Mapping[str, str]] = {}
    """Pairs of words that assert opposite things about the same arguments."""
    member: re.Pattern[str] | None = None
    """Matches a member of an enumeration; None if the language has none."""
    has_inner_calls: bool = False
    """True if the node of an assertion contains all that it compares; else only its sides do."""
    empties: ClassVar[Mapping[str, str]] = {}
    """Empty lists and the like, each with the form of one that holds a value, for untyped languages."""
    unlike: str = ""
    """The form of a value that differs from `%s`, whatever that is; empty in a typed language."""

    def asserted(self, node: Node) -> Iterator[Asserted]:
        """Yields what an assertion asserts, part by part."""
        if node.type in COMMENTS:
            yield Asserted("output", node)
        elif (near := self.approximate_number(node)) is not None:
            yield Asserted("near", node, ([near],))
        else:
            sides = tuple(self.sides(node))
            yield Asserted("equal" if sides else "true", node, sides)

    def sides(self, node: Node) -> Iterator[Sequence[Node]]:
        """The sides that an assertion compares, the most likely expected value first."""
        return iter(())

    def column(self, scope: Node, named: Node) -> list[Node] | None:
        """The values that a name takes in turn, if this scope binds it to a table's column; else None."""
        return None

    def is_callback(self, holder: Node | None) -> bool:
        """Whether a function inside this node is a callback, which other code calls."""
        return False

    def items(self, side: Sequence[Node]) -> list[Node]:
        """The items of a list literal from which one may be dropped."""
        return []

    def approximate_number(self, node: Node) -> Node | None:
        """The expected number of an assertion whose tolerance is known to be small; None if there is none."""
        return None

    def opposite_edits(self, node: Node) -> tuple[ByteEdit, ...] | None:
        """The edits that make the opposite assertion; None if there are none."""
        return None

    def failure_after(self, node: Node) -> ProbeChange | None:
        """Adds a failure after an assertion: a test that reaches it fails, unless the failure is caught."""
        return None

    def content_edits(self, node: Node, path: str) -> tuple[ByteEdit, ...]:
        """The edits by which an assertion compares content; empty where a value's type has no say in it."""
        return ()

    def spoil_value(self, node: Node, dice: Random) -> tuple[ByteEdit, ...] | None:
        """The edits that turn any value, at run time, into another of its kind; for untyped languages."""
        return None


_CALLS = frozenset(
    {"call", "call_expression", "new_expression", "arguments", "argument_list", "macro_invocation"}
)
_HOLDERS = frozenset(
    {
        *("approx", "list", "tuple", "dict", "set", "frozenset", "bytearray", "deque", "OrderedDict"),
        *("array", "Decimal", "Fraction"),
    }
)
"""Python's calls whose results are equal exactly if their first arguments are."""
_COMPUTED = frozenset(
    {
        *("binary_expression", "subscript_expression", "index_expression", "member_expression"),
        *("binary_operator", "subscript", "attribute", "comparison_operator", "not_operator", "await"),
        *("boolean_operator", "conditional_expression", "lambda", "named_expression", "list_splat", "yield"),
        *("list_comprehension", "dictionary_comprehension", "set_comprehension", "generator_expression"),
    }
)
FUNCTIONS = frozenset({"function_item", "function_declaration", "arrow_function", "function_expression"})
_OWNERS = frozenset({"t", "tb", "b", "f", "tt"})


def rows_of(forms: Expectations, named: Node, assertion: Node, compared: Sequence[Node]) -> list[Node]:
    """The values behind a name, one of each row, which have to be changed together.

    Empty if some row has none. Also empty if the name is used for more than this assertion, since
    honest code may then pass with any value.
    """
    text, owner = (
        " ".join(map(text_of_node, compared)),
        text_of_node(part(named, "operand") or part(named, "object")),
    )
    if len(re.findall(rf"(?<![\w.]){re.escape(text_of_node(named))}\b", text)) > 1:
        return []
    if owner and re.search(rf"(?<![\w.]){re.escape(owner)}\b(?!\.)", text):
        return []
    for scope in nodes_around(named):
        found = _rows(forms, scope, named)
        if found is not None:
            return [] if _is_used_elsewhere(scope, named, assertion) else found
    return []


def literals_within(node: Node) -> list[Node]:
    """The literals that make up a value."""
    if node.type in _CALLS:
        given = parts(part(node, "arguments")) if node.type == "new_expression" else _held(node)
        return [literal for one in given for literal in literals_within(one)]
    if node.type in {"pair", "keyed_element", "keyword_argument"}:
        return literals_within(parts(node)[-1])
    if node.type in _COMPUTED or any(child.type == "dictionary_splat" for child in node.children):
        return []
    if node.type == "composite_literal":
        node = part(node, "body") or node
    if not node.named_children or "string" in node.type:
        return [node]
    return [literal for child in parts(node) for literal in literals_within(child)]


def _held(call: Node) -> list[Node]:
    """The arguments that make up the result of a call."""
    name = last_name(part(call, "function")) if call.type == "call" else ""
    given = parts(part(call, "arguments")) if name in _HOLDERS else []
    named = [one for one in given if one.type == "keyword_argument"] if name == "dict" else []
    return [*(one for one in given[:1] if one.type != "keyword_argument"), *named]


def _rows(forms: Expectations, scope: Node, named: Node) -> list[Node] | None:
    """The values of a name, if this scope binds it; else None."""
    if (
        scope.type in FUNCTIONS
        and (found := _arguments_of_calls(forms, scope, text_of_node(named))) is not None
    ):
        return found
    found = forms.column(scope, named)
    if found is not None or named.type != "identifier":
        return found
    declared = find_declaration(scope, text_of_node(named))
    return None if declared is None else [declared]


def last_of_each(cells: Sequence[Node | None]) -> list[Node]:
    literals = [[] if cell is None else literals_within(cell) for cell in cells]
    return [one[-1] for one in literals] if all(literals) else []


def nodes_around(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


# -- a name that is used once --------------------------------------------------------------------------------


def _is_used_elsewhere(scope: Node, named: Node, assertion: Node) -> bool:
    """Whether a name is used outside of the assertion, or bound twice; failure messages do not count."""
    owner = text_of_node(part(named, "operand") or part(named, "object"))
    body = part(scope, "body") or scope
    bound = 0
    for node in walk(body):
        text = text_of_node(node)
        if text != text_of_node(named) and (text != owner or not owner):
            continue
        if node.type not in {"identifier", named.type} or _contains(assertion, node):
            continue
        if _is_bound(node, body):
            bound += text != owner
            continue
        above = node.parent
        if text == owner and above is not None and above.type == named.type:
            continue
        if not _is_message(node, assertion):
            return True
    return False


def _contains(outer: Node, inner: Node) -> bool:
    return bool(outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte)


def _is_bound(node: Node, body: Node) -> bool:
    for above in nodes_around(node):
        if above.id == body.id or above.type in {"subscript", "call"}:
            return False
        left = part(above, "left") or part(above, "pattern") or part(above, "name")
        if left is not None and _contains(left, node):
            return True
        if above.type == "short_var_declaration" and text_of_node(part(above, "left")) == text_of_node(
            part(above, "right")
        ):
            return True
    return False


def _is_message(node: Node, assertion: Node) -> bool:
    """Whether the node is part of the message, such as that of `t.Errorf`, of this assertion."""
    for above in nodes_around(node):
        function = part(above, "function") if above.type == "call_expression" else None
        if text_of_node(part(function, "operand")) in _OWNERS:
            return True
        if above.id == assertion.id:
            return True
    return False


# -- constants and helpers -----------------------------------------------------------------------------------


_DECLARING = frozenset(
    {"var_declaration", "const_declaration", "lexical_declaration", "expression_statement"}
)


def find_declaration(scope: Node, name: str) -> Node | None:
    """The value to which a statement of this block binds the name."""
    for statement in parts(scope):
        inner = statement
        if statement.type in _DECLARING:
            inner = parts(statement)[0] if len(parts(statement)) == 1 else statement
        bound = part(inner, "left") or part(inner, "name") or part(inner, "pattern")
        if text_of_node(bound) != name or inner.type.startswith("for_"):
            continue
        value = part(inner, "right") or part(inner, "value")
        values = parts(value) if value is not None and value.type == "expression_list" else [value]
        return values[0] if len(values) == 1 else None
    return None


def _arguments_of_calls(forms: Expectations, function: Node, name: str) -> list[Node] | None:
    """The arguments that all calls of a helper pass for one of its parameters."""
    listed = parts(part(function, "parameters"))
    names = [text_of_node(name) for parameter in listed for name in _parameter_nodes(parameter)]
    if name not in names:
        return None
    holder = function if function.type in {"function_item", "function_declaration"} else function.parent
    called = text_of_node(part(holder, "name"))
    if not called or (forms.is_callback(holder)):
        return None
    root = [function, *nodes_around(function)][-1]
    uses = [n for n in walk(root) if n.type == "identifier" and text_of_node(n) == called]
    calls = [n.parent for n in uses if n.parent is not None and n.parent.type == "call_expression"]
    if not calls or len(calls) + 1 != len(uses):  # the declaration is a use, too
        return []
    given = [parts(part(call, "arguments")) for call in calls]
    at = names.index(name)
    return last_of_each([words[at] if at < len(words) else None for words in given])


def _parameter_nodes(node: Node) -> list[Node]:
    """The names of a parameter declaration; in Go, several names may share one type."""
    pattern = part(node, "pattern")
    return [pattern] if pattern is not None else node.children_by_field_name("name") or [node]


# -- tables --------------------------------------------------------------------------------------------------


def table_of(scope: Node, over: Node | None) -> Node | None:
    """The table that a loop goes through: a literal in place, or the value of a name declared around it."""
    while over is not None and over.type in {
        "reference_expression",
        "as_expression",
        "parenthesized_expression",
    }:
        over = part(over, "value") or next(iter(parts(over)), None)
    if over is None or over.type != "identifier":
        return over
    found = (find_declaration(around, text_of_node(over)) for around in nodes_around(scope))
    return next((one for one in found if one is not None), None)
