"""Finds code that could give a number itself, where an evaluator in the same process is to give it.

A test is held against many changed assertions; a number is not. So code whose metric is all that counts may
not end the process, turn its output elsewhere, or change what it was given to work on.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.languages.findings import MeasuredFault
from verdigris.languages.python.concerns.names import walk
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.languages.python.concerns.names import SeenNode, SourceNames

_ENDS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_ENDED = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})
_STREAMS = frozenset({"stdout", "stderr", "__stdout__", "__stderr__", "displayhook", "excepthook"})
_TURNS = frozenset({"os.dup2", "os.close", "os.closerange", "os.kill", "os.killpg", "signal.raise_signal"})
_PROGRAM = frozenset({"__main__", "gc", "ctypes", "_ctypes"})
_SETS = frozenset({"builtins.setattr", "builtins.delattr", "builtins.object.__setattr__", "type.__setattr__"})


def find_measured_faults(path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
    """What the text adds to the one before; nothing where it is no Python that can be read here."""
    try:
        old = Counter(what for _, what in _find(path, before or ""))
        found = list(_find(path, after))
    except (SyntaxError, RecursionError, ValueError):
        return (MeasuredFault(1, "it cannot be read"),)
    added: list[MeasuredFault] = []
    for line, what in found:
        old[what] -= 1
        if old[what] < 0:
            added.append(MeasuredFault(line, what))
    return tuple(added)


def _find(path: str, text: str) -> Iterator[tuple[int, str]]:
    tree = parse(text)
    classes = _names_of_classes(tree)
    for seen in walk(tree, path):
        if not seen.main:
            for what in (*_find_ends(seen), *_find_turns(seen), *_find_reaches(seen, classes)):
                yield getattr(seen.node, "lineno", 1), f"`{_shorten(seen.node)}` {what}"


def _shorten(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


_LONG = 60


def _find_ends(seen: SeenNode) -> Iterator[str]:
    match seen.node:
        case ast.Call(func=func) if seen.names.dotted(func) in _ENDS:
            yield "ends the process"
        case ast.Raise(exc=ast.expr() as raised):
            kind = raised.func if isinstance(raised, ast.Call) else raised
            if seen.names.dotted(kind).rpartition(".")[2] in _ENDED or getattr(kind, "id", "") in _ENDED:
                yield "ends the process"


def _find_turns(seen: SeenNode) -> Iterator[str]:
    names = seen.names
    match seen.node:
        case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()) if attr in _STREAMS:
            if names.dotted(owner) == "sys":
                yield "turns the output of the whole process elsewhere"
        case ast.Call(func=func, args=args):
            called = names.dotted(func)
            sets = called in _SETS and args and names.dotted(args[0]) == "sys"
            if called in _TURNS or called.startswith("contextlib.redirect_") or sets:
                yield "reaches for the process's own output or life"


def _find_reaches(seen: SeenNode, classes: frozenset[str]) -> Iterator[str]:
    names = seen.names
    match seen.node:
        case ast.Import(names=aliases) if any(alias.name.partition(".")[0] in _PROGRAM for alias in aliases):
            yield "reaches for the program that runs it"
        case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in _PROGRAM:
            yield "reaches for the program that runs it"
        case ast.Attribute(value=owner, attr="modules") if names.dotted(owner) == "sys":
            yield "reaches for the modules of the process"
        case ast.Attribute(value=owner, ctx=ast.Store() | ast.Del()) if _is_class(owner, classes, names):
            yield "changes the class of what it was given"
        case ast.Call(func=func, args=[owner, *_]) if names.dotted(func) in _SETS:
            if _is_class(owner, classes, names):
                yield "changes the class of what it was given"


def _names_of_classes(tree: ast.Module) -> frozenset[str]:
    """Names that stand for the class of some object."""
    return frozenset(
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _asks_class(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _is_class(owner: ast.expr, classes: frozenset[str], names: SourceNames) -> bool:
    if isinstance(owner, ast.Name) and owner.id in classes:
        return True
    return _asks_class(owner) and not names.dotted(owner)


def _asks_class(node: ast.expr) -> bool:
    """`type(x)` and `x.__class__`, but of `self`, whose class is the project's own."""
    match node:
        case ast.Call(func=ast.Name(id="type"), args=[asked]):
            return not (isinstance(asked, ast.Name) and asked.id == "self")
        case ast.Attribute(value=asked, attr="__class__" | "__dict__"):
            return not (isinstance(asked, ast.Name) and asked.id in {"self", "cls"})
        case ast.Subscript(value=inner) | ast.Attribute(value=inner):
            return _asks_class(inner)
        case _:
            return False
