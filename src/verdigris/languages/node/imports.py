"""Resolves imports: which files they mean, which tests reach a change, which held-out files go together."""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence

from verdigris.languages.findings import HeldGroup, Importable, Imported, ReadMany
from verdigris.languages.folders import first_known
from verdigris.languages.grammar.language import GrammarImports
from verdigris.languages.grammar.trees import MOST_FILES, closure
from verdigris.languages.protocol import HeldOut

_RELATIVE = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.[^"'\n]*)["']""")
_NODE_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'`]([^"'`\n]+)["'`]""")
_NODE_ENDS = (".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json")


def _resolve_import(path: str, name: str, files: frozenset[str]) -> list[str]:
    """The files that an import may mean. A name that is not relative may be an alias: its end decides."""
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


_MODULE = re.compile(rb"^[ \t]*(?:import|export)\b(?!\s*\()", re.MULTILINE)
_STRICT = re.compile(rb"""\s*(?:"use strict"|'use strict');?""")
_EMPTYING = """\
const stem = {stem};
const empty = (path) => fs.truncateSync(path, 0);
const search = (folder) => {{
  let found = [];
  try {{ found = fs.readdirSync(folder, {{ withFileTypes: true }}); }} catch {{}}
  for (const one of found) {{
    const path = folder + "/" + one.name;
    try {{
      if (one.isDirectory()) search(path);
      else if (one.isFile() && fs.readFileSync(path, "latin1").includes(stem)) empty(path);
    }} catch {{}}
  }}
}};
empty(here);
search(os.tmpdir());
"""
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
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), one.module))
        if place in files.paths:
            yield place
            return
        folder, slash, name = place.rpartition("/")
        yield from files.stems.get(folder + slash + name.partition(".")[0], ())
        yield from files.stems.get(f"{place}/index", ())

    def is_declaration(self, path: str) -> bool:
        return path.endswith((".d.ts", ".d.mts", ".d.cts"))

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        """Lists imported files in the order of the text."""
        folder, suffixes = posixpath.dirname(path), self.language.facts.suffixes
        for name in _RELATIVE.findall(text):
            at = posixpath.normpath(posixpath.join(folder, name))
            stem, dot = posixpath.splitext(at)
            # TypeScript imports name the compiled file (`.js`), not the source file (`.ts`).
            meant = [stem] if dot in suffixes else []
            tried = [base + end for base in (*meant, at) for end in suffixes]
            yield from first_known((at, *tried, *(f"{at}/index{end}" for end in suffixes)), files)

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
                head + _EMPTYING.format(stem=json.dumps(stem))
            ).encode()
            first = f'import "./{stem}{end}";' if module else f'require("./{stem}{end}");'
            strict = _STRICT.match(data)
            at = strict.end() if strict else 0
            made[path] = data[:at] + first.encode() + data[at:]
        return made
