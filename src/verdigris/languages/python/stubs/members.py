"""Adds to a class of a module the constants that a test takes from it and that it lacks."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.python.stubs.forms import last_name
from verdigris.languages.python.stubs.origins import MARK
from verdigris.languages.python.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.languages.stubs import Wanted

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "str", "int", "object"})
"""Bases whose members are those that the class itself writes down."""
_TEXTS = frozenset({"StrEnum", "str"})


@value
class Extended:
    """A module whose classes have them."""

    text: str
    added: tuple[str, ...]
    """Each class with what it is given."""


def add_members(before: str, wanted: Iterable[Wanted]) -> Extended:
    """Only where the class tells all that it holds: of a base that nobody knows it may have them."""
    tree = parse(before)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    end = "\r\n" if "\r\n" in before else "\n"
    lines = before.split("\n")
    found: list[tuple[ast.ClassDef, list[str]]] = []
    for one in wanted:
        node = classes.get(one.name)
        if node is not None and (names := _lacking(node, one)):
            found.append((node, [_constant(node, name, number) for number, name in enumerate(names, 1)]))
    for node, constants in sorted(found, key=lambda each: -each[0].lineno):
        indent = " " * node.body[-1].col_offset
        at = node.end_lineno or node.lineno
        lines[at - 1] = lines[at - 1].rstrip("\r\n")
        lines[at - 1 : at] = [lines[at - 1] + end[:-1], *(f"{indent}{text}{end[:-1]}" for text in constants)]
    added = tuple(f"class {node.name}: " + "; ".join(texts) for node, texts in found)
    return Extended("\n".join(lines), added)


def _lacking(node: ast.ClassDef, wanted: Wanted) -> list[str]:
    bases = [last_name(base) for base in node.bases]
    if node.keywords or not _ENUMS.issuperset(bases) or node.body[-1].lineno == node.lineno:
        return []
    held = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    held |= {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef | ast.ClassDef)}
    asked = (one.name for one in wanted.members if one.of_type and one.kind == "value" and one.name.isupper())
    return [name for name in dict.fromkeys(asked) if name not in held]


def _constant(node: ast.ClassDef, name: str, number: int) -> str:
    """Each another one: members of an enumeration with the same value are one member."""
    text = f'"{name}"' if _TEXTS & {last_name(base) for base in node.bases} else str(-number)
    return f"{name} = {text}  # {MARK}"
