"""Resolves imports: which files they mean, which tests reach a change, which held-out files go together."""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.languages.findings import HeldGroup
from verdigris.languages.folders import first_known
from verdigris.languages.grammar.language import GrammarImports
from verdigris.languages.grammar.trees import MOST_FILES, closure, first, part, parts, text_of_node
from verdigris.languages.protocol import HeldOut

if TYPE_CHECKING:
    from tree_sitter import Node

    from verdigris.languages.findings import Importable, Imported, ReadMany


_RELATIVE = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.[^"'\n]*)["']""")
_NODE_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'`]([^"'`\n]+)["'`]""")
DEFAULT, ALL = "default", "*"
_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue", ".svelte")


def candidates(place: str) -> tuple[str, ...]:
    """The paths that an import of this path may mean, the likeliest first: with another ending, or an index.

    An import in TypeScript names the compiled file (`.js`), not the source file (`.ts`).
    """
    bare = re.sub(r"\.[cm]?[jt]sx?\Z", "", place)
    stems = (bare, place, f"{place}/index")
    return tuple(dict.fromkeys((place, *(f"{stem}{end}" for stem in stems for end in _ENDINGS))))


def place_of(path: str, module: str) -> str:
    """The path, from the root, that a relative import of a file names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), module))


@value
class ImportedName:
    """A local name that an import binds."""

    local: str
    module: str
    name: str
    """The exported name: `default` if it has none, `*` for the whole module."""


def read_imported(node: Node) -> Iterator[ImportedName]:
    """The names that a statement binds by an import, by `require("…")` or by `await import("…")`."""
    if node.type == "import_statement":
        module = _unquote(part(node, "source"))
        for one in parts(first(parts(node), "import_clause")):
            match one.type:
                case "identifier":
                    yield ImportedName(text_of_node(one), module, DEFAULT)
                case "namespace_import":
                    yield ImportedName(text_of_node(next(iter(parts(one)), None)), module, ALL)
                case "named_imports":
                    yield from (_read_member(each, module, "name", "alias") for each in parts(one))
    elif node.type == "variable_declarator" and (module := _required_module(part(node, "value"))):
        pattern = part(node, "name")
        if pattern is not None and pattern.type == "object_pattern":
            yield from (_read_member(each, module, "key", "value") for each in parts(pattern))
        else:
            yield ImportedName(text_of_node(pattern), module, ALL)


def _read_member(node: Node, module: str, exported: str, local: str) -> ImportedName:
    name = part(node, exported) or node
    return ImportedName(text_of_node(part(node, local) or name), module, text_of_node(name))


def _required_module(node: Node | None) -> str:
    if node is not None and node.type == "await_expression":
        node = next(iter(parts(node)), None)
    called = text_of_node(part(node, "function")) in {"require", "import"}
    return _unquote(next(iter(parts(part(node, "arguments"))), None)) if called else ""


def _unquote(node: Node | None) -> str:
    return text_of_node(node).strip("\"'`")


def _resolve_import(path: str, name: str, files: frozenset[str]) -> list[str]:
    """The files that an import may mean. A name that is not relative may be an alias: its end decides."""
    if name.startswith("."):
        return [one for one in candidates(place_of(path, name)) if one in files]
    inner = name.lstrip("@~#").partition("/")[2]
    ends = tuple(f"/{one}" for one in candidates(inner)) if inner else ()
    return [one for one in files if ends and f"/{one}".endswith(ends)]


_MODULE = re.compile(rb"^[ \t]*(?:import|export)\b(?!\s*\()", re.MULTILINE)
_STRICT = re.compile(rb"""\s*(?:"use strict"|'use strict');?""")
_EMPTYING = Path(__file__).with_name("empty_on_load.js")
_HEADS = {
    ".mjs": (
        'import fs from "node:fs";\nimport os from "node:os";\nimport {{ fileURLToPath }} from "node:url";\n'
        "const here = fileURLToPath(new URL({name}, import.meta.url));\n"
    ),
    ".cjs": 'const fs = require("fs"), os = require("os");\nconst here = __dirname + "/" + {name};\n',
}


def _held_out_imports(path: str, held: Mapping[str, bytes]) -> list[str]:
    """The other held-out files that this one imports, with or without their ending."""
    folder, data = posixpath.dirname(path), held[path]
    return [
        other
        for other in held
        if other != path
        for name in [posixpath.relpath(other, folder or ".")]
        if re.search(
            rb"[\"'`]\.?/?" + re.escape(re.sub(r"\.\w+\Z", "", name)).encode() + rb"(?:\.\w+)?[\"'`]", data
        )
    ]


class NodeImports(GrammarImports):
    def targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        """Resolves like Node and bundlers: the file, the file with an ending, or the index of a folder."""
        if not one.module.startswith("."):
            return
        place = place_of(path, one.module)
        if place in files.paths:
            yield place
            return
        folder, slash, name = place.rpartition("/")
        yield from files.stems.get(folder + slash + name.partition(".")[0], ())
        yield from files.stems.get(f"{place}/index", ())

    def is_declaration(self, path: str) -> bool:
        return path.endswith((".d.ts", ".d.mts", ".d.cts"))

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        for name in _RELATIVE.findall(text):
            yield from first_known(candidates(place_of(path, name)), files)

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        leads: dict[str, set[str]] = {}
        waiting = tests = list(tests)
        goals, paths = frozenset(changed), frozenset(files)
        while waiting and len(leads) < MOST_FILES:
            texts = read(waiting)
            for path in waiting:
                told = _NODE_IMPORT.findall(texts.get(path) or b"")
                names = (name.decode("utf-8", "replace") for name in told)
                leads[path] = {found for name in names for found in _resolve_import(path, name, paths)}
            waiting = sorted({to for path in waiting for to in leads[path]} - leads.keys())
        return frozenset(test for test in tests if not goals.isdisjoint(closure(test, leads)))


class NodeHeldOut(HeldOut):
    def groups(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[HeldGroup]:
        """Makes a group of each file that no other imports, with the files that it imports."""
        leads = {path: _held_out_imports(path, held) for path in code}
        roots = [path for path in code if not any(path in leads[o] for o in code if o != path)]
        return [HeldGroup((root,), (*closure(root, leads), *data)) for root in roots or code]

    def empty_on_load(self, texts: Mapping[str, bytes], *, loads_modules: bool) -> dict[str, bytes]:
        """Adds, to each test file, an import of a new module that empties the file once it is loaded."""
        made: dict[str, bytes] = {}
        for path, data in texts.items():
            if not path.endswith(self.language.facts.suffixes):
                made[path] = data
                continue
            module = _MODULE.search(data) is not None
            end = ".mjs" if module and loads_modules else ".cjs"
            stem = f"m{secrets.token_hex(6)}"
            name = posixpath.basename(path)
            head = _HEADS[end].format(name=json.dumps(f"./{name}" if end == ".mjs" else name))
            made[posixpath.join(posixpath.dirname(path), stem + end)] = (
                head + _EMPTYING.read_text("utf-8").replace("{stem}", json.dumps(stem))
            ).encode()
            first = f'import "./{stem}{end}";' if module else f'require("./{stem}{end}");'
            strict = _STRICT.match(data)
            at = strict.end() if strict else 0
            made[path] = data[:at] + first.encode() + data[at:]
        return made
