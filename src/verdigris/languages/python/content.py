"""Edits by which an assertion compares content: plain data on one side must be those data on the other.

An object's own opinion of equality does not count there. The expressions stand in the text of the test, so
they import nothing of ours, and they take the content by methods of the built-in types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.conditions import bare, last_name
from verdigris.languages.grammar.content import named_classes, root_of
from verdigris.languages.grammar.trees import part, parts, text_of_node
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
_NEAR = frozenset({"assertAlmostEqual"})
_GIVEN = "given(content, a, e) == content(content, e, 40) or given(content, e, a) == content(content, a, 40)"
_COMPARED = (
    f"content(content, a, 40) == content(content, e, 40) or {_GIVEN} if is_plain"
    " else content(content, a, 40) == e if near else a == e"
)
_SIDES = (
    f"(e, e) if is_plain and ({_GIVEN}) else (content(content, a, 40), e) if is_plain or near else (a, e)"
)
_CONTENT = """
lambda a, e: (lambda plain, content, given: (lambda is_plain, near: RESULT)(
    plain(plain, e) or plain(plain, a), type(e).__module__.startswith('_pytest.')
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
"""A function of two values, of which RESULT is what it makes. It trusts the `__eq__` of Python, of installed
packages and of classes NAMED.

What lies forty levels deep compares itself. An object of no built-in type is what it gives without knowing
what is expected: its items, its text or its number, by the type of the other side.
"""


_REAL_CLASS = """
lambda a, t: isinstance(a, t) and (issubclass(type(a), t) or all(
    'site-packages' in file or 'dist-packages' in file or file.startswith(__import__('os').__file__[:-5])
    for kind in type.mro(type(a)) if kind.__name__ not in NAMED
    for file in [getattr(getattr(vars(kind).get('__class__'), 'fget', None), '__code__', None)]
    if file is not None
    for file in [file.co_filename]
))"""
"""`isinstance` by the class that Python knows. It trusts proxies of packages and of NAMED classes."""


def content_edits(statement: Node, path: str = "", *, strict: bool = False) -> tuple[ByteEdit, ...]:  # noqa: ARG001 - as of other languages
    """The edits of an assertion's equalities; none if it has none. `strict`: no named class is trusted."""
    named = repr(() if strict else tuple(named_classes(root_of(statement))))
    text = _CONTENT.replace("NAMED", named)
    compare, pair = (" ".join(text.replace("RESULT", result).split()) for result in (_COMPARED, _SIDES))
    if statement.type == "assert_statement":
        asserted = [*_asserted(parts(statement)[0])]
        equal = (edit for one in asserted if _equates(one) for edit in _compare(one, compare))
        return (*equal, *(edit for one in asserted for edit in _real_class(one, named)))
    call = parts(statement)[0] if statement.type == "expression_statement" else None
    name = last_name(part(call, "function")) if call is not None and call.type == "call" else ""
    if call is None or name not in _EQUALITIES | _NEAR:
        return ()
    sides = [one for one in parts(part(call, "arguments")) if one.type != "keyword_argument"][:2]
    if len(sides) < 2 or any("splat" in one.type for one in sides):  # noqa: PLR2004 - two sides
        return ()
    first, second = sides
    taken = pair if name in _NEAR else f"lambda a, e: (e, e if ({compare})(a, e) else object())"
    return (
        ByteEdit(first.start_byte, first.start_byte, f"*({taken})("),
        ByteEdit(second.end_byte, second.end_byte, ")"),
    )


def _asserted(test: Node) -> Iterator[Node]:
    inner = bare(test)
    if inner.type == "boolean_operator" and text_of_node(part(inner, "operator")) == "and":
        for side in (part(inner, "left"), part(inner, "right")):
            yield from () if side is None else _asserted(side)
    else:
        yield inner


def _equates(node: Node) -> bool:
    return {text_of_node(one) for one in _signs(node)} == {"=="}


def _signs(node: Node) -> list[Node]:
    return [one for one in node.children if not one.is_named] if node.type == "comparison_operator" else []


def _real_class(node: Node, named: str) -> tuple[ByteEdit, ...]:
    """The edits of an `isinstance`: what an object of the project calls its class does not count."""
    called = part(node, "function") if node.type == "call" else None
    if called is None or text_of_node(called) != "isinstance":
        return ()
    text = " ".join(_REAL_CLASS.replace("NAMED", named).split())
    return (ByteEdit(called.start_byte, called.end_byte, f"({text})"),)


def _compare(node: Node, compare: str) -> tuple[ByteEdit, ...]:
    """The edits of `a == b` and of `a == b == c`."""
    signs = _signs(node)
    each = f"lambda *v: all(({compare})(a, e) for a, e in zip(v, v[1:]))" if signs[1:] else compare
    return (
        ByteEdit(node.start_byte, node.start_byte, f"({each})("),
        *(ByteEdit(sign.start_byte, sign.end_byte, ",") for sign in signs),
        ByteEdit(node.end_byte, node.end_byte, ")"),
    )
