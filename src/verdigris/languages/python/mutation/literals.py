"""Finds the literals that source works with, and which of them a change brought."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.literals import Literal, compare_literals
from verdigris.languages.python.stubs.forms import is_docstring, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.languages.literals import RenamedWords
    from verdigris.languages.python.mutation.decisions import Site

_TELLING = ("log", "warn", "print", "debug", "info", "error", "exception", "critical")
_DECLARING = frozenset({"TypeVar", "ParamSpec", "NewType", "cast", "dataclass", "namedtuple", "NamedTuple"})
_LOOKING_UP = frozenset({"vars", "dir", "getattr", "globals", "locals", "import_module"})
_FEW = 3
"""So many names make a table."""


@value
class WrittenLiteral:
    path: str
    node: ast.Constant
    about: Literal

    @property
    def other(self) -> str:
        return repr(_other_value(self.node.value))


@value
class ChangedLiterals:
    new: tuple[tuple[WrittenLiteral, bool], ...]
    """With each, whether tests need not notice it: it copies a known value, or names something in a table."""
    gone: frozenset[str]
    """Old literals, as they are written, that are in no place any more."""


def changed_literals(
    old: Mapping[str, ast.Module],
    new: Mapping[str, ast.Module],
    unchanged: tuple[Iterable[Site], Iterable[Site]],
    renamed: RenamedWords,
) -> ChangedLiterals:
    """Compares the literals outside of conditions that are `unchanged`, old and new.

    A text that follows the renaming of a function, a class, a variable or a module says the same as before.
    """
    was, held = _literals_of(old, unchanged[0]), _literals_of(new, unchanged[1])
    surplus = compare_literals([one.about for one in was], [one.about for one in held])
    left = [was[at] for at in surplus.left]
    names = {id(node) for tree in new.values() for node in _tables_of_names(tree)}
    found = [
        (held[at], weak or id(held[at].node) in names)
        for at, weak in surplus.found.items()
        if not any(renamed.covers(one.about, held[at].about) for one in left)
    ]
    return ChangedLiterals(tuple(found), frozenset(one.about.value for one in left))


def _tables_of_names(tree: ast.Module) -> Iterator[ast.Constant]:
    """The items of lists and sets of names, in a module that looks names up."""
    if not any(isinstance(node, ast.Call) and last_name(node.func) in _LOOKING_UP for node in ast.walk(tree)):
        return
    for node in ast.walk(tree):
        match node:
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) if len(parts) >= _FEW:
                names = [part for part in parts if isinstance(part, ast.Constant)]
                if len(names) == len(parts) and all(str(name.value).isidentifier() for name in names):
                    yield from names


def _literals_of(trees: Mapping[str, ast.Module], same: Iterable[Site]) -> Sequence[WrittenLiteral]:
    within = {
        id(part) for site in same for node in (*site.nodes, *site.stands_for) for part in ast.walk(node)
    }
    found: list[WrittenLiteral] = []
    for path, tree in trees.items():
        places = _places(tree)
        found += (
            WrittenLiteral(path, node, Literal(repr(node.value), places.get(id(node), "")))
            for node in _literals(tree)
            if id(node) not in within
        )
    return found


def _places(tree: ast.Module) -> dict[int, str]:
    """Maps every literal to a description of the code right around it, without names and literals."""
    found: dict[int, str] = {}
    for node in ast.walk(tree):
        for at, child in enumerate(ast.iter_child_nodes(node)):
            if isinstance(child, ast.Constant):
                parts = " ".join(type(part).__name__ for part in ast.walk(node))
                found[id(child)] = (
                    f"{at} {parts} {last_name(node.func) if isinstance(node, ast.Call) else ''}"
                )
    return found


def _literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """The numbers, texts and booleans that code works with; not those of messages, annotations, f-strings."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | bytes()):
                yield node
            case ast.Raise() | ast.JoinedStr() | ast.Assert() | ast.arguments() | ast.MatchValue():
                continue
            case ast.Expr() if is_docstring(node):
                continue
            case ast.Call(func=func) if last_name(func).lower().startswith(_TELLING):
                continue
            case ast.AnnAssign(value=found):
                stack += [found] if found is not None else []
            case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
                stack += reversed(body)
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("__"):
                continue
            case ast.Call(func=func) if last_name(func) in _DECLARING:
                continue
            case _:
                stack += reversed(list(ast.iter_child_nodes(node)))


def _other_value(found: object) -> object:
    match found:
        case bool():
            return not found
        case int() | float():
            return found + 1
        case bytes():
            return found + b"~"
        case _:
            return f"{found}~"
