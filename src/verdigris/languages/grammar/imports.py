"""Reads imports, and finds the test files that a change may affect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.findings import Imported
from verdigris.languages.grammar.trees import line_of, part, parts, text_of_node, tree_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node


MOST_FILES = 3_000
"""That are read at most."""
_LOADS = frozenset({"require", "import", "require.resolve"})


def read_imports(path: str, data: bytes) -> tuple[Imported, ...]:
    root, _ = tree_of(path, data)
    named = ((node, named) for node in walk(root) for named in _import_sources(node))
    return tuple(Imported(line_of(node), text_of_node(text).strip("\"'`")) for node, text in named)


def _import_sources(node: Node) -> Iterator[Node]:
    match node.type:
        case "import_statement" | "export_statement":
            if (source := part(node, "source")) is not None:
                yield source
        case "call_expression" if text_of_node(part(node, "function")) in _LOADS:
            yield from parts(part(node, "arguments"))[:1]
        case "import_require_clause" | "import_spec":
            found = part(node, "source") or part(node, "path")
            if found is not None:
                yield found


def closure(start: str, leads: Mapping[str, set[str]]) -> set[str]:
    """All that one leads to, itself included."""
    seen, waiting = {start}, [start]
    while waiting:
        fresh = leads.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
