"""Lists the unclaimed tests that a change of source may affect, the likeliest first."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.languages.literals import Chance

_MANY = 400
"""Tests among which is looked; of more than that, as many by chance."""


def list_affected(
    passed: Iterable[str],
    tests: Mapping[str, str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    random: Chance,
) -> tuple[str, ...]:
    """`passed`: native ids. `tests`: texts of test files. `before`, `after`: changed source, all by path.

    First those whose own text names something that was changed, then those whose file does, then those whose
    file names a changed module; each in random order.
    """
    names = frozenset(name for path, text in after.items() for name in changed_names(before.get(path), text))
    modules = frozenset(map(_module, after))
    known = list(passed)
    if len(known) > _MANY:
        known = random.sample(known, _MANY)
    ranked: list[tuple[int, float, str]] = []
    for test_id in known:
        rank = _rank(test_id, tests, names, modules)
        if rank is not None:
            ranked.append((rank, random.random(), test_id))
    functions = (i.removesuffix(split_id(i).case) for _, _, i in sorted(ranked))
    return tuple(dict.fromkeys(functions))


def changed_names(before: str | None, after: str) -> frozenset[str]:
    """Names of new or changed functions, classes and constants, with the classes around them."""
    old = {} if before is None else dict(_definitions(before))
    return frozenset(
        part
        for name, text in _definitions(after)
        if old.get(name) != text
        for part in name.split(".")
        if not (part.startswith("__") and part.endswith("__"))
    )


def _definitions(text: str) -> list[tuple[str, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    found: list[tuple[str, str]] = []

    def look(body: Iterable[ast.stmt], prefix: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef():
                    look(node.body, f"{prefix}{node.name}.")
                    found.append((f"{prefix}{node.name}", ast.dump(node)))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    found.append((f"{prefix}{node.name}", ast.dump(node)))
                case ast.Assign(targets=targets):
                    names = (t.id for t in targets if isinstance(t, ast.Name))
                    found.extend((f"{prefix}{name}", ast.dump(node)) for name in names)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    found.append((f"{prefix}{name}", ast.dump(node)))
                case ast.If() | ast.Try() | ast.With():
                    look(ast.iter_child_nodes(node), prefix)  # type: ignore[arg-type] # others match nothing

    look(tree.body, "")
    return found


def _rank(
    test_id: str, tests: Mapping[str, str], names: frozenset[str], modules: frozenset[str]
) -> int | None:
    where = split_id(test_id)
    text = tests.get(where.path)
    if text is None:
        return None
    words = _words(text)
    if names & words:
        own = _own_text(text, where.function.rpartition("::")[2])
        return 0 if names & _words(own) else 1
    return 2 if modules & words else None


def _own_text(text: str, function: str) -> str:
    """From where the function is defined to the next definition that stands no deeper."""
    begun = re.search(rf"^([ \t]*)(?:async\s+)?def {re.escape(function)}\b", text, re.MULTILINE)
    if begun is None:
        return ""
    rest = text[begun.end() :]
    ended = re.search(rf"^(?!{begun.group(1)}[ \t]+)[ \t]*(?:async|def|class|@)", rest, re.MULTILINE)
    return rest[: ended.start()] if ended else rest


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def _module(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
