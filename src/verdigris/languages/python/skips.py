"""Marks a test of pytest or unittest as skipped, with the import that the mark needs."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.literals import quote_line
from verdigris.languages.python.stubs.forms import Function, is_docstring, last_name
from verdigris.languages.python.syntax import Source, declares_encoding, foreign_encoding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.python.syntax import TextEdit


@value
class _Place:
    function: Function
    has_bases: bool
    """Its class has: it may be a `TestCase`, which knows the marks of unittest alone."""


def mark_skipped(text: str, name: str, why: str) -> str | None:
    """As `Language.with_skip`."""
    try:
        source = Source(text)
    except SyntaxError:
        return None
    places = [*_find_places(source.tree.body, name.partition("[")[0].split("::"))]
    if not places or foreign_encoding(text) is not None:
        return None
    running = [place for place in places if not any(map(_skips, place.function.decorator_list))]
    module = "unittest" if places[0].has_bases else "pytest"
    if not running:
        return text
    alias = _alias(source.tree, module, min(place.function.lineno for place in places))
    reason = quote_line(why)
    if declares_encoding(text):
        reason = reason.encode("ascii", "backslashreplace").decode()
    mark = f"skip({reason})" if module == "unittest" else f"mark.skip(reason={reason})"
    edits = [source.line_above(place.function, f"@{alias or module}.{mark}") for place in running]
    return source.apply([*([] if alias else [_import(source, module)]), *edits])


def _find_places(
    body: Sequence[ast.stmt], names: Sequence[str], *, has_bases: bool = False
) -> Iterator[_Place]:
    for node in body:
        match node:
            case ast.ClassDef(name=name, bases=bases) if len(names) > 1 and name == names[0]:
                derives = any(last_name(base) != "object" for base in bases)
                yield from _find_places(node.body, names[1:], has_bases=derives)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if [name] == [*names]:
                yield _Place(node, has_bases)
            case ast.If(body=inner, orelse=rest) | ast.Try(body=inner, orelse=rest):
                yield from _find_places([*inner, *rest], names, has_bases=has_bases)


def _skips(decorator: ast.expr) -> bool:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "skip"


def _alias(tree: ast.Module, module: str, line: int) -> str | None:
    """What a module is called above this line; None where it is not imported, or only under a condition."""
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.Import) and node.lineno < line else ():
            if alias.name == module:
                return alias.asname or module
    return None


def _import(source: Source, module: str) -> TextEdit:
    """Ahead of what is no part of the standard library; else where imports end, or would begin."""
    new, blank = f"import {module}", source.line_end
    heads = [node for node in source.tree.body[:1] if is_docstring(node)]
    rest = source.tree.body[len(heads) :]
    while rest and isinstance(rest[0], ast.ImportFrom) and rest[0].module == "__future__":
        heads.append(rest.pop(0))
    imports: list[ast.stmt] = []
    while rest and isinstance(rest[0], ast.Import | ast.ImportFrom):
        imports.append(rest.pop(0))
    behind = [node for node in imports if module in sys.stdlib_module_names or not _is_standard(node)]
    if behind:
        return source.line_above(behind[0], new)
    if imports or heads:
        return source.line_below((imports or heads)[-1], f"{blank}{new}")
    return source.line_on_top(f"{new}{blank}{blank}")


def _is_standard(node: ast.stmt) -> bool:
    match node:
        case ast.ImportFrom(level=0, module=str(name)):
            return name.partition(".")[0] in sys.stdlib_module_names
        case ast.Import(names=names):
            return all(alias.name.partition(".")[0] in sys.stdlib_module_names for alias in names)
        case _:
            return False
