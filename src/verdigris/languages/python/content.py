"""Edits by which an assertion compares content: plain data on one side must be those data on the other.

An object's own opinion of equality does not count there. The expressions stand in the text of the test, so
they import nothing of ours, and they take the content by methods of the built-in types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import bare, last_name
from verdigris.languages.grammar.trees import part, parts, text_of_node, walk
from verdigris.languages.probes import ByteEdit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_EQUALITIES = frozenset(
    {
        *("assertEqual", "assertDictEqual", "assertListEqual", "assertTupleEqual", "assertSetEqual"),
        *("assertMultiLineEqual", "assertSequenceEqual"),
    }
)
_COMPARISON = """
lambda a, e: (lambda plain, content, given: (
    content(content, a, 40) == content(content, e, 40)
    or given(content, a, e) == content(content, e, 40)
    or given(content, e, a) == content(content, a, 40)
    if plain(plain, e) or plain(plain, a) else a == e
))(
    lambda plain, x: (
        type(x) in (int, float, complex, str, bytes, bool, type(None))
        or type(x).__module__ in ('datetime', 'pathlib', 'decimal', 'fractions', 'uuid')
        or type(x) in (list, tuple, set, frozenset) and all(plain(plain, y) for y in x)
        or type(x) is dict and all(plain(plain, y) for y in x.items())
    ),
    lambda content, x, n: (
        x if n < 0
        else [content(content, y, n - 1) for y in x] if type(x) is list
        else tuple(content(content, y, n - 1) for y in x) if type(x) is tuple
        else {content(content, y, n - 1) for y in x} if type(x) in (set, frozenset)
        else {content(content, k, n - 1): content(content, v, n - 1) for k, v in x.items()} if type(x) is dict
        else x if type(x).__name__ in NAMED or (lambda equal: (
            type(equal) in (type(int.__eq__), type(str.join), type(len))
            or (lambda file: file is not None and (
                file[:1] == '<' or 'site-packages' in file or 'dist-packages' in file
                or file.startswith(__import__('os').__file__[:-5])
            ))(getattr(getattr(equal, '__code__', None), 'co_filename', None))
        ))(type.__getattribute__(type(x), '__eq__'))
        else next((content(content, take(x), n - 1) for kind, take in (
            (int, int.__int__),
            (float, float.__float__),
            (str, str.__str__),
            (bytes, lambda b: bytes.__getitem__(b, slice(None))),
            (tuple, lambda t: tuple(tuple.__iter__(t))),
            (list, lambda t: list(list.__iter__(t))),
            (dict, lambda t: dict(dict.items(t))),
            (set, lambda t: set(set.__iter__(t))),
            (frozenset, lambda t: set(frozenset.__iter__(t)))
        ) if kind in type.mro(type(x))), object())
    ),
    lambda content, x, like: (
        object() if {int, float, str, bytes, tuple, list, dict, set, frozenset} & set(type.mro(type(x)))
        else content(content, set(y for y, _ in zip(x, range(len(like) + 1))), 40)
        if type(like) in (set, frozenset)
        else content(content, type(like)(y for y, _ in zip(x, range(len(like) + 1))), 40)
        if type(like) in (list, tuple)
        else content(content, {k: x[k] for k, _ in zip(x, range(len(like) + 1))}, 40) if type(like) is dict
        else type(like)(x) if type(like) in (int, float, str, bytes)
        else object()
    )
)"""
"""A function of two values. It trusts the `__eq__` of Python, of installed packages and of classes NAMED.

What lies forty levels deep compares itself. An object of no built-in type is what it gives without knowing
what is expected: its items, its text or its number, by the type of the other side.
"""


def content_edits(statement: Node) -> tuple[ByteEdit, ...]:
    """The edits of all equalities of an assertion; none if it asserts no equality."""
    root = statement
    while root.parent is not None:
        root = root.parent
    names = {text_of_node(one) for one in walk(root) if one.type == "identifier"}
    named = tuple(sorted(name for name in names if name[:1].isupper()))
    compare = " ".join(_COMPARISON.replace("NAMED", repr(named)).split())
    if statement.type == "assert_statement":
        return tuple(edit for one in _equalities(parts(statement)[0]) for edit in _compare(one, compare))
    call = parts(statement)[0] if statement.type == "expression_statement" else None
    if call is None or call.type != "call" or last_name(part(call, "function")) not in _EQUALITIES:
        return ()
    sides = [one for one in parts(part(call, "arguments")) if one.type != "keyword_argument"][:2]
    if len(sides) < 2 or any("splat" in one.type for one in sides):  # noqa: PLR2004 - two sides
        return ()
    first, second = sides
    return (
        ByteEdit(
            first.start_byte, first.start_byte, f"*(lambda a, e: (e, e if ({compare})(a, e) else object()))("
        ),
        ByteEdit(second.end_byte, second.end_byte, ")"),
    )


def _equalities(test: Node) -> Iterator[Node]:
    inner = bare(test)
    if inner.type == "boolean_operator" and text_of_node(part(inner, "operator")) == "and":
        for side in (part(inner, "left"), part(inner, "right")):
            yield from () if side is None else _equalities(side)
    elif inner.type == "comparison_operator":
        signs = [one for one in inner.children if not one.is_named]
        if len(signs) == 1 and text_of_node(signs[0]) == "==":
            yield inner


def _compare(node: Node, compare: str) -> tuple[ByteEdit, ...]:
    first, second = parts(node)
    sign = next(one for one in node.children if not one.is_named)
    return (
        ByteEdit(first.start_byte, first.start_byte, f"({compare})("),
        ByteEdit(sign.start_byte, sign.end_byte, ","),
        ByteEdit(second.end_byte, second.end_byte, ")"),
    )
