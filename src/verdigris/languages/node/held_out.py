"""Held-out tests of JavaScript and TypeScript: which lie in the tree together, and how they vanish."""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from typing import TYPE_CHECKING

from verdigris.languages.findings import Parcel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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


def parcels(code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:
    """Each file that no other imports, with what it imports."""
    leads = {path: _held_out_imports(path, held) for path in code}
    roots = [path for path in code if not any(path in leads[o] for o in code if o != path)]
    return [Parcel((root,), (*_closure(root, leads), *data)) for root in roots or code]


def dress(texts: Mapping[str, bytes], suffixes: tuple[str, ...], *, loads_modules: bool) -> dict[str, bytes]:
    """As they are laid into the tree, with what they need to empty themselves."""
    made: dict[str, bytes] = {}
    for path, data in texts.items():
        if not path.endswith(suffixes):
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


def _held_out_imports(path: str, held: Mapping[str, bytes]) -> list[str]:
    """Other held-out files that this one names, with or without their ending."""
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


def _closure(root: str, leads: Mapping[str, Sequence[str]]) -> list[str]:
    seen = [root]
    for path in seen:
        seen += [one for one in leads.get(path, ()) if one not in seen]
    return seen
