"""Reads imports, and finds the test files that a change may affect."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.languages import GO, NODE
from verdigris.languages.findings import Imported
from verdigris.languages.grammar.trees import line_of, part, parts, said, tree_of, walk

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


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Reader = Callable[[Sequence[str]], Mapping[str, bytes | None]]

_NODE_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'`]([^"'`\n]+)["'`]""")
_NODE_ENDS = (".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json")
_GO_IMPORT = re.compile(rb'"([\w.\-/~]+)"')
_GO_HEAD = re.compile(rb"^(?:func|type|var|const)\b", re.MULTILINE)
_MOST = 3_000
"""Files that are read at most."""


def reaching(
    language: str, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: Reader
) -> frozenset[str]:
    """Of these test files; `files`: all of the tree. In Rust the tests of one workspace share its crates."""
    asked, goals = [*tests], frozenset(changed)
    if language == NODE:
        return _node(asked, goals, frozenset(files), read)
    if language == GO:
        return _go(asked, goals, [*files], read)
    return frozenset(asked)


def _node(tests: Sequence[str], goals: frozenset[str], files: frozenset[str], read: Reader) -> frozenset[str]:
    leads: dict[str, set[str]] = {}
    waiting = list(tests)
    while waiting and len(leads) < _MOST:
        texts = read(waiting)
        for path in waiting:
            told = _NODE_IMPORT.findall(texts.get(path) or b"")
            names = (name.decode("utf-8", "replace") for name in told)
            leads[path] = {found for name in names for found in _resolved(path, name, files)}
        waiting = sorted({to for path in waiting for to in leads[path]} - leads.keys())
    return frozenset(test for test in tests if _closure(test, leads) & goals)


def _resolved(path: str, name: str, files: frozenset[str]) -> list[str]:
    """A name that is no relative one may be an alias: then whatever ends so is meant."""
    relative = name.startswith(".")
    base = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if relative else name
    stems = [base, re.sub(r"\.[cm]?jsx?\Z", "", base)]
    wanted = [
        f"{stem}{end}" for stem in stems for end in ("", *_NODE_ENDS, *(f"/index{e}" for e in _NODE_ENDS))
    ]
    if relative:
        return [one for one in dict.fromkeys(wanted) if one in files]
    inner = base.lstrip("@~#").partition("/")[2]
    ends = tuple(f"/{one.lstrip('@~#').partition('/')[2]}" for one in wanted) if inner else ()
    return [one for one in files if ends and f"/{one}".endswith(ends)]


def _go(tests: Sequence[str], goals: frozenset[str], files: Sequence[str], read: Reader) -> frozenset[str]:
    """By folders, which are packages: a file's name in an import is the folder's end."""
    sources = [path for path in files if path.endswith(".go")][:_MOST]
    folders = {posixpath.dirname(path) for path in sources}
    leads: dict[str, set[str]] = {folder: set() for folder in folders}
    for path, data in read(sources).items():
        head = _GO_HEAD.split(data or b"", maxsplit=1)[0]
        for name in _GO_IMPORT.findall(head):
            text = f"/{name.decode('utf-8', 'replace')}"
            leads[posixpath.dirname(path)] |= {one for one in folders if not one or text.endswith(f"/{one}")}
    changed = {posixpath.dirname(path) for path in goals}
    return frozenset(test for test in tests if _closure(posixpath.dirname(test), leads) & changed)


def _closure(start: str, leads: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = leads.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen
