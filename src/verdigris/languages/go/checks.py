"""Reads what a Go test asserts: plain `if` with `t.Error`, testify, gomega."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.assertions import Check, Words
from verdigris.languages.grammar.suite import spell
from verdigris.languages.grammar.trees import part, parts, text_of_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from verdigris.languages.grammar.suite import At

_EQUAL = {
    "!=": ("==", 5.0),
    "==": ("!=", 2.0),
    "<": (">=", 2.9),
    ">": ("<=", 2.9),
    "<=": (">", 3.0),
    ">=": ("<", 3.0),
}
"""What is asserted where a test fails under a comparison."""
_CALLS = {
    **dict.fromkeys(("DeepEqual", "Equal", "EqualFold", "Is", "As", "Compare"), 5.0),
    **dict.fromkeys(("Contains", "HasPrefix", "HasSuffix", "MatchString", "Match"), 3.0),
}
TESTIFY: dict[str, tuple[str, float]] = {
    **dict.fromkeys(
        ("Equal", "EqualValues", "Exactly", "Same", "JSONEq", "YAMLEq", "EqualError", "ErrorIs"), ("==", 5)
    ),
    **dict.fromkeys(("Nil", "Empty", "True", "False", "Zero", "EqualExportedValues"), ("is", 5)),
    **dict.fromkeys(("InDelta", "InEpsilon", "WithinDuration", "InDeltaSlice"), ("near", 4)),
    **dict.fromkeys(
        ("ElementsMatch", "ErrorAs", "ErrorContains", "PanicsWithValue", "PanicsWithError"), ("part", 4)
    ),
    **dict.fromkeys(
        ("Contains", "Regexp", "Subset", "Len", "Greater", "Less", "HTTPStatusCode"), ("part", 3)
    ),
    **dict.fromkeys(
        ("NoError", "Error", "Panics", "GreaterOrEqual", "LessOrEqual", "Eventually"), ("ends", 2.5)
    ),
    **dict.fromkeys(("IsType", "Implements", "NotPanics"), ("type", 2)),
    **dict.fromkeys(("NotNil", "NotEmpty", "NotZero", "NotEqual", "NotContains"), ("not", 1.5)),
}
_NO_ACTUAL = frozenset(
    {"Equal", "EqualValues", "Exactly", "Same", "JSONEq", "YAMLEq", "IsType", "Implements"}
)
"""Where the expected value stands first."""


def negate_condition(condition: Node, at: At) -> Iterator[Check]:
    """What holds if the condition does not."""
    operator = text_of_node(part(condition, "operator"))
    if condition.type == "parenthesized_expression":
        yield from negate_condition(parts(condition)[0], at)
    elif condition.type == "binary_expression" and operator == "||":
        for side in ("left", "right"):
            if (one := part(condition, side)) is not None:
                yield from negate_condition(one, at)
    elif condition.type == "binary_expression" and operator in _EQUAL:
        yield _read_comparison(condition, operator, at)
    elif condition.type == "binary_expression":
        yield Check("or", 0.5, spell(condition, at.names))
    elif condition.type == "unary_expression" and operator == "!":
        words = spell(part(condition, "operand"), at.names)
        yield Check("true", _called_rank(words), words)
    else:
        yield Check("false", 1.5, spell(condition, at.names))


def _read_comparison(node: Node, operator: str, at: At) -> Check:
    left, right = (spell(part(node, side), at.names) for side in ("left", "right"))
    if operator in {"==", "!="}:
        left, right = sorted((left, right), key=lambda words: not any(word.name for word in words))
    kind, rank = _EQUAL[operator]
    texts = {word.text for word in left}
    if left == right:
        return Check(kind, 0, left, right)
    if "Abs" in texts and operator in {">", ">="}:
        return Check("near", 4, left, (), _number(right))
    if right and right[-1].text == "nil":
        rank = min(rank, 2.5)
    elif left and left[0].text == "len":
        rank = min(rank, 3.0)
    return Check(kind, rank, left, right)


def _number(words: Words) -> float:
    try:
        return float("".join(word.text for word in words))
    except ValueError:
        return 1e-6


def _called_rank(words: Words) -> float:
    return max((_CALLS.get(word.text, 1.0) for word in words), default=1.0)


def testify(method: str, arguments: list[Node], at: At, *, with_t: bool) -> Check:
    given = [spell(argument, at.names) for argument in (arguments[1:] if with_t else arguments)]
    kind, rank = TESTIFY[method]
    subject = given[0] if given else ()
    expected = given[1] if len(given) > 1 and kind not in {"is", "ends"} else ()
    if method in _NO_ACTUAL:
        subject, expected = expected, subject
    empty = not any(word.name for word in (*subject, *expected)) or subject == expected
    slack = _number(given[2]) if kind == "near" and len(given) > 2 else 0.0  # noqa: PLR2004 - the third is the slack
    return Check(f"{kind} {method}", 0 if empty else rank, subject, expected, slack)


def gomega(function: Node | None, method: str, arguments: list[Node], at: At) -> Check:
    subject = spell(part(function, "operand"), at.names)
    expected = spell(arguments[0], at.names) if arguments else ()
    if method in {"NotTo", "ToNot", "ShouldNot"}:
        return Check("not", 2, subject, expected)
    matcher = expected[0].text if expected else ""
    rank = {"Equal": 5.0, "BeTrue": 5.0, "BeFalse": 5.0, "BeNil": 5.0, "HaveLen": 3.0}.get(matcher, 3.0)
    return Check(f"to {matcher}", rank, subject, expected)
