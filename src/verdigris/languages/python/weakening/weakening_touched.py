"""Which functions of a suite mean the same on both sides, so that nobody needs to read what they assert."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.languages.python.weakening.names import File, Suite

Key = tuple[str, str]


def touched(old: Suite, new: Suite) -> set[str]:
    """Names that mean something else now, however far down."""
    names = {name.rpartition("::")[2] for (_, name), _ in _texts(old).items() ^ _texts(new).items()}
    uses = [
        (key[1].rpartition("::")[2], _words(suite.files[key[0]], key[1]))
        for suite in (old, new)
        for key in _functions(suite)
    ]
    while more := {name for name, words in uses if not words.isdisjoint(names)} - names:
        names |= more
    return names


def untouched(old: Suite, new: Suite) -> set[Key]:
    names = touched(old, new)
    was, is_ = _texts(old), _texts(new)
    return {
        key
        for key in _functions(old) & _functions(new)
        if was[key] == is_[key] and _words(old.files[key[0]], key[1]).isdisjoint(names)
    }


def _functions(suite: Suite) -> set[Key]:
    return {(path, name) for path, file in suite.files.items() for name in file.functions}


def _texts(suite: Suite) -> Mapping[Key, str]:
    """All that a name can stand for: functions with their classes, values, imports."""
    found: dict[Key, str] = {}
    for path, file in suite.files.items():
        heads = _class_heads(file.tree)
        for name, function in file.functions.items():
            found[path, name] = "".join([ast.dump(function), *(heads[c] for c in name.split("::")[:-1])])
        found |= {(path, name): ast.dump(value) for name, value in file.values.items()}
        found |= {(path, name): dotted for name, dotted in file.imports.items()}
    return found


def _class_heads(tree: ast.Module) -> Mapping[str, str]:
    return {
        node.name: "".join(map(ast.dump, [*node.decorator_list, *node.bases]))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }


def _words(file: File, name: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(file.functions[name]):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word):
                found.add(word)
            case ast.Constant(value=str(word)):
                found.add(word)
    return found
