"""Reads what `expect`, `assert` and chai assert; and decides which values are constants, as in a stub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.assertions import Check, Words
from verdigris.languages.grammar.suite import spell
from verdigris.languages.grammar.trees import part, parts, text_of_node, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import GrammarNames


_RANKED: dict[tuple[str, float], str] = {
    ("==", 5): "toBe toStrictEqual equal equals eq strictEqual deepStrictEqual",
    ("==", 4.8): "toEqual eql eqls deepEqual looseEqual",
    ("is", 5): "toBeNull toBeUndefined toBeNaN null undefined NaN true false isTrue isFalse isNull "
    "isUndefined isEmpty empty ifError",
    ("part", 4): "toMatchObject containSubset include includes contain members",
    ("part", 3): "toContain toContainEqual toMatch match string keys toHaveClass",
    ("part", 3.5): "toHaveProperty property toHaveAttribute toHaveTextContent",
    ("count", 3): "toHaveLength lengthOf length toHaveBeenCalledTimes callCount",
    ("near", 4): "toBeCloseTo closeTo approximately",
    ("called with", 4): "toHaveBeenCalledWith toHaveBeenLastCalledWith toHaveBeenNthCalledWith calledWith "
    "toHaveReturnedWith",
    ("called", 2): "toHaveBeenCalled toHaveBeenCalledOnce called calledOnce toHaveReturned",
    ("snapshot", 4): "toMatchSnapshot toMatchFileSnapshot",
    ("snapshot", 5): "toMatchInlineSnapshot toThrowErrorMatchingInlineSnapshot",
    ("order", 3): "toBeGreaterThan toBeLessThan above below greaterThan lessThan",
    ("order", 2.9): "toBeGreaterThanOrEqual toBeLessThanOrEqual least most within",
    ("type", 2): "toBeInstanceOf toBeTypeOf instanceOf instanceof a an typeOf",
    ("throws", 3): "toThrow toThrowError throw throws rejects rejected rejectedWith",
    ("throws", 4): "toThrowErrorMatchingSnapshot",
    ("falsy", 1.5): "toBeFalsy isNotOk",
    ("truth", 1): "toBeTruthy ok isOk toBeInTheDocument toBeVisible",
    ("defined", 0.9): "toBeDefined exist exists isDefined",
    ("calm", 2): "doesNotThrow doesNotReject resolves",
    ("fail", 3): "fail unreachable",
}
"""The words of matchers by what they assert and how much that is worth."""
_MATCHERS = {name: ranked for ranked, names in _RANKED.items() for name in names.split()}
_ARGUED = 2
"""What the rank of `toThrow` and its like gains by an argument that names the error."""
_LITERALS = frozenset(
    {"string", "number", "true", "false", "null", "undefined", "template_string", "unary_expression"}
)
_ANYTHING = ("anything", "any")
_UNKNOWN = ("matches", 3.0)
_CLOSE = 0.005


def expect_check(
    subject: Node | None, chain: Sequence[str], arguments: Sequence[Node], names: GrammarNames
) -> Check:
    """The check of an `expect(…)`. `chain`: the words that follow it, with the matcher at the end."""
    said_of = spell(subject, names)
    kind, rank = _MATCHERS.get(chain[-1], _UNKNOWN) if chain else ("nothing", 0.0)
    # The tolerance is kept apart from the expected value.
    others = arguments[:1] if kind == "near" else arguments
    expected = [word for argument in others for word in spell(argument, names)]
    if "deep" in chain and kind == "==":
        rank = 4.8
    return _make_check(kind, rank, said_of, tuple(expected), arguments, negated="not" in chain)


def assert_check(method: str, arguments: Sequence[Node], names: GrammarNames) -> Check:
    """The check of node's `assert`, of chai's `assert`, and of `t.…` in smaller tools."""
    kind, rank = _MATCHERS.get(method, ("truth", 1.0) if method == "assert" else _UNKNOWN)
    negated = method.startswith(("not", "doesNot", "isNot")) and kind not in {"calm", "falsy"}
    if negated:
        kind, rank = "not", 2
    subject = spell(arguments[0], names) if arguments else ()
    others = arguments[1:2] if kind in {"==", "not", "part", "throws", "near", "count", "order"} else ()
    expected = tuple(word for argument in others for word in spell(argument, names))
    if kind == "truth" and arguments:
        return _check_truth(arguments[0], subject, names)
    return _make_check(kind, rank, subject, expected, others, negated=False)


def _make_check(
    kind: str, rank: float, subject: Words, expected: Words, arguments: Sequence[Node], *, negated: bool
) -> Check:
    if negated:
        return Check(f"not {kind}", 2, subject, expected)
    if kind == "throws" and arguments:
        rank += _ARGUED
    if kind == "==" and all(a.type in _LITERALS for a in arguments):
        rank = 5
    if kind in {"==", "called with"} and (loose := _rank_of_wildcard(expected)):
        rank = min(rank, loose)
    if _holds_always(kind, subject, expected):
        rank = 0
    return Check(kind, rank, subject, expected, _slack(kind, arguments))


def _check_truth(node: Node, subject: Words, names: GrammarNames) -> Check:
    """The check of a truthy value; `assert(a === b)` counts as an equality."""
    operator = text_of_node(part(node, "operator"))
    if node.type == "binary_expression" and operator in {"===", "=="}:
        left, right = (spell(part(node, side), names) for side in ("left", "right"))
        return Check("==", 0 if left == right else 5, left, right)
    return Check("truth", 0 if _holds_always("truth", subject, ()) else 1, subject)


def _holds_always(kind: str, subject: Words, expected: Words) -> bool:
    """Whether the check holds whatever the code does: it tests a literal, or compares a value with itself."""
    if kind == "fail":
        return False
    return (
        bool(subject) and not any(word.name for word in subject) and kind != "throws"
    ) or subject == expected


def _rank_of_wildcard(expected: Words) -> float:
    texts = [word.text for word in expected]
    matchers = [
        at for at, text in enumerate(texts) if text in _ANYTHING and texts[max(0, at - 2)] == "expect"
    ]
    if not matchers:
        return 0.0
    return 0.5 if texts[0] == "expect" else 4.5


def _slack(kind: str, arguments: Sequence[Node]) -> float:
    """The tolerance: of digits in `toBeCloseTo(x, digits)`; a number with a point is chai's own delta."""
    if kind != "near":
        return 0.0
    text = text_of_node(arguments[1]) if len(arguments) > 1 else "2"
    try:
        number = float(text)
    except ValueError:
        return _CLOSE
    return number if "." in text else 10.0**-number / 2


_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_CONSTANTS = frozenset({"number", "string", "true", "false", "null", "undefined", "regex", "this"})
_CASTS = frozenset(
    {"as_expression", "satisfies_expression", "non_null_expression", "parenthesized_expression"}
)
_EMPTY = frozenset({"Map", "Set", "WeakMap", "WeakSet", "Array", "Object", "Date"})


def enum_fault(node: Node) -> str | None:
    members = [node] if node.type == "enum_assignment" else parts(part(node, "body"))
    values = [part(member, "value") for member in members if member.type == "enum_assignment"]
    return (
        None if all(value is None or is_constant(value) for value in values) else "a value is not a constant"
    )


def value_fault(value: Node | None) -> str | None:
    if value is not None and value.type in _VALUES:
        return function_fault(value)
    if value is not None and value.type == "class":
        return "a class that is a value may do anything"
    return None if value is None or is_constant(value) else "the value is not a constant"


def function_fault(node: Node) -> str | None:
    defaults = [value for p in parts(part(node, "parameters")) if (value := part(p, "value")) is not None]
    defaults += [right for p in walk(part(node, "parameters") or node) if (right := _default(p)) is not None]
    if not all(map(is_constant, defaults)):
        return "a default is not a constant"
    body = part(node, "body")
    if body is not None and body.type != "statement_block":
        return None if is_constant(body) else "the body is not a constant"
    if all(_is_empty(statement) for statement in parts(body)):
        return None
    return "the body does more than throw or return a constant"


def _default(node: Node) -> Node | None:
    return part(node, "right") if node.type.endswith("assignment_pattern") else None


def _is_empty(node: Node) -> bool:
    match node.type:
        case "throw_statement":
            thrown = parts(node)[0]
            return thrown.type == "new_expression" and all(map(is_constant, parts(part(thrown, "arguments"))))
        case "return_statement":
            return all(map(is_constant, parts(node)))
        case "expression_statement":
            inner = parts(node)[0]
            called = text_of_node(part(inner, "function")) == "super" and inner.type == "call_expression"
            given = parts(part(inner, "arguments"))
            return is_constant(inner) or (
                called and all(n.type == "identifier" or is_constant(n) for n in given)
            )
        case "empty_statement":
            return True
        case _:
            return False


def is_constant(node: Node) -> bool:
    match node.type:
        case kind if kind in _CONSTANTS:
            return True
        case "identifier":
            return text_of_node(node) in {"NaN", "Infinity", "undefined"}
        case "template_string":
            return not any(n.type == "template_substitution" for n in node.children)
        case "unary_expression":
            argument = part(node, "argument")
            return argument is not None and (text_of_node(node).startswith("void ") or is_constant(argument))
        case kind if kind in _CASTS:
            return is_constant(parts(node)[0])
        case "array":
            return all(map(is_constant, parts(node)))
        case "object":
            values = [part(pair, "value") for pair in parts(node)]
            return all(value is not None and is_constant(value) for value in values)
        case "jsx_element" | "jsx_self_closing_element":
            return not any(n.type == "jsx_expression" for n in walk(node))
        case "new_expression":
            return text_of_node(part(node, "constructor")) in _EMPTY and not parts(part(node, "arguments"))
        case "call_expression":
            called, given = text_of_node(part(node, "function")), parts(part(node, "arguments"))
            error = called == "Promise.reject" and all(n.type == "new_expression" for n in given)
            return error or (called == "Promise.resolve" and all(map(is_constant, given)))
        case _:
            return False
