"""Reads conditions as terms of one form, so that mirrored, negated and written out ones compare equal."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from verdigris.core.value import field, replace, value
from verdigris.languages.assertions import Name
from verdigris.languages.grammar.trees import COMMENTS, part, parts, text_of_node

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tree_sitter import Node

IDENTIFIERS = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)
GLOBAL = frozenset(
    {"property_identifier", "field_identifier", "type_identifier", "private_property_identifier"}
)
NUMBERS = frozenset({"number", "int_literal", "float_literal", "integer_literal", "integer", "float"})
TEXTS = frozenset({"string", "interpreted_string_literal", "string_literal"})
TRUTHS = frozenset({"true", "false", "boolean_literal"})
CONSTANTS = NUMBERS | TEXTS | TRUTHS | {"none", "null", "nil", "undefined"}
MEMBERS = {
    "attribute": ("object", "attribute"),
    "member_expression": ("object", "property"),
    "selector_expression": ("operand", "field"),
    "field_expression": ("value", "field"),
}
"""Nodes that name a member of an object, with the fields of both."""
_WORDS = {"&&": "and", "||": "or", "and": "and", "or": "or"}
OPPOSITE = {"<": ">=", ">": "<=", "==": "!=", "===": "!==", "in": "not in", "is": "is not"}
OPPOSITE |= {opposite: sign for sign, opposite in OPPOSITE.items()}
"""By the sign of a comparison, the sign of its opposite."""
COMPARING = frozenset(OPPOSITE)
LOGICAL = frozenset({"and", "or", "??"})
_NEGATIVE = frozenset({"!=", "!==", "not in", "is not"})
_MIRROR = {">": "<", ">=": "<="}
_EQUAL = frozenset({"==", "!=", "===", "!=="})
_LISTED = frozenset({"tuple", "list", "set"})
_EMPTY = {("==", "0"), ("===", "0"), ("<", "1"), ("<=", "0")}
_FILLED = {("!=", "0"), ("!==", "0"), ("0", "<"), ("1", "<=")}
"""`_EMPTY` and `_FILLED`: how a length is compared with a number, on its right or on its left."""
_DEEP = 5
"""How deep names and functions are written out inside each other."""
SELVES = frozenset({"self", "cls", "this"})


@value
class Term:
    kind: str
    """`and`, `or`, `not`, `compare`, `name`, `member`, `call`, `keyword`, `list`, `constant`, `filled`; else
    the type of its node."""
    text: str = ""
    """The name, the sign of a comparison, or the text of what has no parts."""
    parts: tuple[Term, ...] = ()

    def shape(self, names: list[Name], local: Collection[str]) -> str:
        """Structure, operators and literals as text; names are appended to the list."""
        if self.kind == "name":
            names.append(Name(self.text, self.text in local))
            return "_"
        inner = [one.shape(names, local) for one in self.parts]
        if self.kind == "compare":
            return f"({inner[0]} {self.text} {inner[1]})"
        if self.kind in {"member", "keyword"}:
            names.append(Name(self.text, local=False))
        elif not self.parts:
            return self.text
        return f"({self.kind} {' '.join(inner)})"

    @property
    def is_pure(self) -> bool:
        """Whether it only reads a value, and so may be read twice."""
        return self.kind in {"name", "constant", "member"} and all(one.is_pure for one in self.parts)


@value
class ConditionForm:
    shape: str
    names: tuple[Name, ...]
    flipped: bool = False
    """True if this is the form of the opposite condition."""


def condition_form(term: Term, local: Collection[str], *, is_value: bool = False) -> ConditionForm:
    """The form of the condition or of its opposite, whichever has fewer negations.

    `is_value`: the term is used as a value, so its opposite is something else.
    """
    forms = []
    for flipped in (False,) if is_value else (False, True):
        names: list[Name] = []
        pushed = _push_negation(term, negated=flipped)
        forms.append(
            (_count_negations(pushed), ConditionForm(pushed.shape(names, local), tuple(names), flipped))
        )
    return min(forms, key=lambda one: (one[0], one[1].shape))[1]


def shape_of(node: Node, names: list[Name], local: Collection[str]) -> str:
    """The shape of any node, e.g. of a function."""
    if node.type in COMMENTS:
        return ""
    if node.type in IDENTIFIERS or node.type in GLOBAL:
        text = text_of_node(node)
        names.append(Name(text, local=node.type in IDENTIFIERS and text in local))
        return "_"
    if not node.children:
        return text_of_node(node)
    return f"({node.type} {' '.join(shape_of(child, names, local) for child in node.children)})"


def literal_text(node: Node) -> str:
    """A literal as text; how a string is quoted does not count."""
    text = text_of_node(node)
    if node.type in TEXTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return repr(ast.literal_eval(text))  # Python reads nearly all strings of the other languages
            except (SyntaxError, ValueError):
                return text
    return text


def is_interpolated(node: Node) -> bool:
    """Whether a text holds expressions, as an f-string does."""
    return any(child.type == "interpolation" for child in node.children)


def last_name(node: Node | None) -> str:
    """The last part of a dotted name; empty for other expressions."""
    if node is not None and node.type in MEMBERS:
        return text_of_node(part(node, MEMBERS[node.type][1]))
    return text_of_node(node) if node is not None and node.type in IDENTIFIERS else ""


def operator_of(node: Node) -> str:
    """The sign between the two sides of a node; `and` and `or` for all signs of these; else empty."""
    if node.type == "comparison_operator":
        signs = [text_of_node(one) for one in node.children if not one.is_named]
        return signs[0] if len(signs) == 1 else ""
    if node.type not in {"binary_expression", "boolean_operator"}:
        return ""
    sign = text_of_node(part(node, "operator"))
    return _WORDS.get(sign, sign)


def bare(node: Node) -> Node:
    """The node without the parentheses around it."""
    while node.type == "parenthesized_expression" and len(parts(node)) == 1:
        node = parts(node)[0]
    return node


def read_term(node: Node) -> Term:
    node = bare(node)
    if node.type in IDENTIFIERS or node.type == "this":
        return Term("name", text_of_node(node))
    if node.type in CONSTANTS and not is_interpolated(node):
        return Term("constant", literal_text(node))
    if node.type == "not_operator" or (
        node.type == "unary_expression" and text_of_node(node.children[0]) == "!"
    ):
        return Term("not", parts=(read_term(parts(node)[-1]),))
    if node.type == "comparison_operator" and not operator_of(node):
        return _read_chain(node)
    sign = operator_of(node)
    if sign and node.type != "comparison_operator":
        sides = tuple(read_term(one) for one in (part(node, "left"), part(node, "right")) if one is not None)
        kind = sign if sign in _WORDS else "compare"
        return Term(kind, sign, sides)
    if sign:
        return Term("compare", sign, tuple(map(read_term, parts(node))))
    if node.type in MEMBERS:
        of, name = (part(node, each) for each in MEMBERS[node.type])
        if of is not None and name is not None:
            return Term("member", text_of_node(name), (read_term(of),))
    if node.type in {"call", "call_expression"}:
        function, given = part(node, "function"), part(node, "arguments")
        if function is not None and given is not None and given.type in {"argument_list", "arguments"}:
            return Term("call", parts=(read_term(function), *map(read_term, parts(given))))
    return _read_other(node)


def _read_chain(node: Node) -> Term:
    """`a < b < c` is read as two comparisons, if what is between can be read twice."""
    sides = [read_term(one) for one in parts(node)]
    signs = [text_of_node(one) for one in node.children if not one.is_named]
    if not all(one.is_pure for one in sides[1:-1]) or len(signs) != len(sides) - 1:
        return _read_other(node)
    pairs = zip(signs, sides, sides[1:], strict=False)
    return Term("and", "and", tuple(Term("compare", sign, (a, b)) for sign, a, b in pairs))


def _read_other(node: Node) -> Term:
    counted = [one for one in node.children if one.type not in COMMENTS]
    if not counted:
        kind = "name" if node.type in GLOBAL else node.type
        return Term(kind, text_of_node(node))
    if node.type == "keyword_argument":
        return Term("keyword", text_of_node(part(node, "name")), (read_term(counted[-1]),))
    kind = "list" if node.type in _LISTED else node.type
    return Term(kind, parts=tuple(map(read_term, counted)))


def _push_negation(term: Term, *, negated: bool) -> Term:
    """Pushes negations inward, and gives comparisons one direction."""
    match term:
        case Term("not", _, (inner,)):
            return _push_negation(inner, negated=not negated)
        case Term("call", _, (Term("name", "bool"), inner)):
            return _push_negation(inner, negated=negated)
        case Term("and" | "or" as word, _, sides):
            opposite = "or" if word == "and" else "and"
            return _join(opposite if negated else word, (_push_negation(s, negated=negated) for s in sides))
        case Term("compare", "in" | "not in" as sign, (left, Term("list", _, members))) if left.is_pure:
            each = [one for one in members if one.kind == "constant"]
            if each and all(one.kind == "constant" or one.text in "()[]{}," for one in members):
                equal = "!=" if (sign == "not in") != negated else "=="
                word = "and" if equal == "!=" else "or"
                return _join(word, (Term("compare", equal, (left, one)) for one in each))
        case Term("compare", sign, (left, right)) if sign in OPPOSITE:
            return _compare(left, OPPOSITE[sign] if negated else sign, right)
        case _ if (measured := _is_filled(term)) is not None:
            return _push_negation(measured, negated=negated)
    return Term("not", parts=(term,)) if negated else term


def _join(word: str, sides: Iterator[Term]) -> Term:
    flat = tuple(inner for one in sides for inner in (one.parts if one.kind == word else (one,)))
    return flat[0] if len(flat) == 1 else Term(word, word, flat)


def _compare(left: Term, sign: str, right: Term) -> Term:
    if sign in _MIRROR or (sign in _EQUAL and left.kind == "constant"):
        left, sign, right = right, _MIRROR.get(sign, sign), left
    if (held := _measured(left)) is not None and (sign, right.text) in _EMPTY | _FILLED:
        return Term("not", parts=(held,)) if (sign, right.text) in _EMPTY else held
    if (held := _measured(right)) is not None and (left.text, sign) in _FILLED:
        return held
    return Term("compare", sign, (left, right))


def _measured(term: Term) -> Term | None:
    """What is asked for its length. In Python, what is not empty is true."""
    match term:
        case Term("call", _, (Term("name", "len"), held)):
            return held
        case Term("member", "length", (held,)) | Term("call", _, (Term("member", "len", (held,)),)):
            return Term("filled", parts=(held,))
        case _:
            return None


def _is_filled(term: Term) -> Term | None:
    match term:
        case Term("member", "length"):
            return _measured(term)
        case Term("call", _, (Term("member", "is_empty", (held,)),)):
            return Term("not", parts=(Term("filled", parts=(held,)),))
        case _:
            return None


def _count_negations(term: Term) -> int:
    own = term.kind == "not" or (term.kind == "compare" and term.text in _NEGATIVE)
    return own + sum(map(_count_negations, term.parts))


@value
class Predicate:
    """A function that only returns a condition."""

    node: Node
    """The condition."""
    parameters: tuple[str, ...]
    """Their names; that of the object comes first in a method."""


@value
class WriteOut:
    """Replaces a name or a call by the condition that it stands for."""

    named: Mapping[str, Node]
    """Names that are bound once, and to a condition."""
    predicates: Mapping[str, Predicate]
    """By the name of a function, if only one has it, and by `Class.name`."""
    owner: str
    """The class in which the condition stands."""
    deep: int = 0
    used: list[Node] = field(default_factory=list)
    """The conditions elsewhere that were written out."""

    def write(self, term: Term) -> Term:
        if self.deep > _DEEP:
            return term
        if term.kind == "name" and term.text in self.named:
            return self._inner(self.named[term.text], {}, self.named)
        written = replace(term, parts=tuple(map(self.write, term.parts))) if term.parts else term
        match written:
            case Term("call", _, (Term("name", name), *given)):
                called = self.predicates.get(name)
            case Term("call", _, (Term("member", name, (of,)), *given)):
                mine = f"{self.owner}.{name}" if of.text in SELVES else ""
                called = self.predicates.get(mine) or self.predicates.get(name)
                given = [of, *given]
            case _:
                return written
        is_named = any(one.kind == "keyword" for one in given)
        if called is None or is_named or len(called.parameters) != len(given):
            return written
        return self._inner(called.node, dict(zip(called.parameters, given, strict=True)), {})

    def _inner(self, node: Node, given: Mapping[str, Term], named: Mapping[str, Node]) -> Term:
        self.used.append(node)
        written = replace(self, named=named, deep=self.deep + 1).write(read_term(node))
        return _substitute(written, given)


def _substitute(term: Term, given: Mapping[str, Term]) -> Term:
    if term.kind == "name":
        return given.get(term.text, term)
    return replace(term, parts=tuple(_substitute(one, given) for one in term.parts)) if term.parts else term
