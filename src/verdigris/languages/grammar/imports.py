"""What a text of Node or Go imports, by its grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.languages.grammar.trees import line_of, part, parts, said, tree_of, walk
from verdigris.languages.python.stuborigins import Imported

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_LOADS = frozenset({"require", "import", "require.resolve"})


def imported(path: str, data: bytes) -> tuple[Imported, ...]:
    root, _ = tree_of(path, data)
    named = ((node, named) for node in walk(root) for named in _named(node))
    return tuple(Imported(line_of(node), said(text).strip("\"'`")) for node, text in named)


def _named(node: Node) -> Iterator[Node]:
    match node.type:
        case "import_statement" | "export_statement":
            if (source := part(node, "source")) is not None:
                yield source
        case "call_expression" if said(part(node, "function")) in _LOADS:
            yield from parts(part(node, "arguments"))[:1]
        case "import_require_clause" | "import_spec":
            found = part(node, "source") or part(node, "path")
            if found is not None:
                yield found
