"""Finds constants that new Python stubs can return instead of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.languages.findings import StubAnswer, StubBody, draw_word
from verdigris.languages.python.stubs.forms import Function, is_empty_statement, last_name
from verdigris.languages.python.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.languages.literals import Chance

_KINDS = {
    **dict.fromkeys(("list", "List", "Sequence", "Iterable", "Iterator", "Collection"), "list"),
    **dict.fromkeys(("dict", "Dict", "Mapping", "MutableMapping"), "dict"),
    **dict.fromkeys(("set", "Set", "frozenset", "FrozenSet", "AbstractSet"), "set"),
    **dict.fromkeys(("tuple", "Tuple"), "tuple"),
    **{name: name for name in ("bool", "int", "float", "str", "bytes")},
}
_UNTOLD = ("int", "str", "list", "dict", "bool")
"""The kinds to try if neither an annotation nor a constant shows the kind."""
_UNCALLED = frozenset(
    {"__init__", "__new__", "__post_init__", "__init_subclass__", "__del__", "__set_name__"}
)
_BARE = frozenset({"abstractmethod", "overload", "setter", "deleter"})
_ALTERED = 3
"""How many altered values are tried for each expected one."""


def stub_bodies(
    before: str | None, after: str, literals: Sequence[str], dice: Chance
) -> tuple[StubBody, ...]:
    """The bodies of new stubs. `literals`: the values that tests expect. The caller fills in the path."""
    try:
        known = dict(_functions(Source(before or "").tree.body, ""))
        source = Source(after)
    except SyntaxError:
        return ()
    found = []
    for name, function in _functions(source.tree.body, ""):
        old = known.get(name)
        if (old is None or ast.dump(old) != ast.dump(function)) and _can_answer(function):
            answers = tuple(_answers(function, literals, dice))
            edit = source.replace_node(_work(function), "")
            start, end = (len(after[:at].encode("utf-8", "surrogateescape")) for at in (edit.start, edit.end))
            found.append(StubBody("", name, function.lineno, start, end, "%s", answers))
    return tuple(found)


def _functions(body: Iterable[ast.stmt], scope: str) -> Iterator[tuple[str, Function]]:
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield scope + name, node
            case ast.ClassDef(name=name, body=inner):
                yield from _functions(inner, f"{scope}{name}.")


def _can_answer(function: Function) -> bool:
    marks = {last_name(one.func if isinstance(one, ast.Call) else one) for one in function.decorator_list}
    nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    return (
        all(map(is_empty_statement, function.body))
        and function.name not in _UNCALLED
        and not marks & _BARE
        and not nothing
        and last_name(function.returns or ast.Constant(0)) not in {"NoReturn", "Never"}
    )


def _work(function: Function) -> ast.stmt:
    """The statement that a `return` can replace; the statements after it then do not run."""
    body = function.body
    has_docstring = isinstance(body[0], ast.Expr) and len(body) > 1
    return body[1] if has_docstring else body[0]


def _answers(function: Function, literals: Sequence[str], dice: Chance) -> Iterator[StubAnswer]:
    kind = _kind_of(function)
    kinds = (kind,) if kind else _UNTOLD
    for one in kinds:
        yield from _constants(one, dice)
    for error in ("ValueError", "RuntimeError"):
        yield StubAnswer(f'raise {error}("{draw_word(dice)}")', "error")
    for literal in literals:
        value = ast.literal_eval(literal)
        if type(value).__name__ in kinds and not isinstance(value, bool) and value is not None:
            yield StubAnswer(f"return {literal}", "expected", literal=literal)
            others = list(dict.fromkeys(repr(other) for other in _other_values(value, dice)))[:_ALTERED]
            yield from (StubAnswer(f"return {o}", "expected", literal=literal, altered=True) for o in others)


def _kind_of(function: Function) -> str:
    """The kind of a function's result, from its annotation or its constant; empty if neither shows it."""
    if kind := _annotation_of(function.returns):
        return kind
    given = [node.value for node in function.body if isinstance(node, ast.Return) and node.value is not None]
    if function.returns is not None or not given:
        return ""
    try:
        found = type(ast.literal_eval(given[0])).__name__
    except (ValueError, TypeError):
        return ""
    return _KINDS.get(found, "")


def _annotation_of(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            try:
                return _annotation_of(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return ""
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _annotation_of(left) or _annotation_of(right)
        case ast.Subscript(value=value, slice=inner):
            name = last_name(value)
            return (
                _annotation_of(inner) if name in {"Optional", "Annotated", "Final"} else _KINDS.get(name, "")
            )
        case ast.Name() | ast.Attribute():
            return _KINDS.get(last_name(node), "")
        case _:
            return ""


def _constants(kind: str, dice: Chance) -> Iterator[StubAnswer]:
    one, two = draw_word(dice), draw_word(dice)
    number, other = dice.randint(1_000, 9_000), -dice.randint(10, 900)
    nothing, *values = {
        "bool": ("", "True", "False"),
        "int": ("0", str(number), str(other)),
        "float": ("0.0", f"{number}.5", f"{other}.25"),
        "str": ('""', f'"{one}"', f'"{two} {number}"'),
        "bytes": ('b""', f'b"{one}"', f'b"{two}7"'),
        "list": ("[]", f'["{one}"]', f"[{number}, {other}]"),
        "tuple": ("()", f'("{one}",)', f"({number}, {other})"),
        "set": ("set()", f'{{"{one}"}}', f"{{{number}, {other}}}"),
        "dict": ("{}", f'{{"{one}": {number}}}', f'{{"{two}": "{one}", {number}: {other}}}'),
    }[kind]
    yield from (StubAnswer(f"return {text}", kind) for text in values)
    if nothing:
        yield StubAnswer(f"return {nothing}", kind, empty=True)


def _other_values(value: object, dice: Chance) -> Iterator[object]:
    """Other values of the same kind, some near and some not."""
    match value:
        case int():
            yield from (value + 1, value - 1, value + dice.randint(20, 90))
        case float():
            yield from (value + 1, value - 1, value * 2 + 7)
        case str():
            yield from (f"{value}{draw_word(dice)}"[::-1], f"{draw_word(dice)}{value[1:]}", draw_word(dice))
        case bytes():
            yield from (value + draw_word(dice).encode(), value[1:] or b"0")
        case list() | tuple():
            yield from (
                value[:-1],
                (*value[1:], draw_word(dice)) if isinstance(value, tuple) else [*value[1:], 7],
            )
        case set():
            yield from ({*value, draw_word(dice)}, {draw_word(dice)})
        case dict():
            yield from ({**value, draw_word(dice): 7}, dict.fromkeys(value or [7], draw_word(dice)))
