"""How held-out tests are given to a run so that the code under test finds no file to read them in.

What is compiled is emptied before the first test runs. A file of JavaScript empties itself, and what a tool
made of it in its temporary folder, before it loads anything of the project; that is its first statement.
Files that nobody needs at the same time are not in the tree at the same time.
"""

from __future__ import annotations

import json
import posixpath
import re
import secrets
from typing import TYPE_CHECKING

from verdigris.core.languages import GO, NODE, PYTHON, RUST, language_of
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.settings import Stack
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

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


@value
class Parcel:
    """Held-out files that are in the tree at the same time."""

    asked: tuple[str, ...]
    """Those that the runner is asked for."""
    files: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    """Those that whoever runs them empties."""


def parcels(stack: Stack, held: Mapping[str, bytes]) -> list[Parcel]:
    """`held`: by path; what is no code of the stack's language is data that the tests may need."""
    code = [path for path in held if language_of(path) == stack.language]
    data = tuple(path for path in held if path not in code)
    match stack.language:
        case lang if lang == GO:
            folders = dict.fromkeys(map(posixpath.dirname, code))
            asked = [tuple(path for path in code if posixpath.dirname(path) == one) for one in folders]
            return [Parcel(paths, (*code, *data), tuple(code)) for paths in asked]
        case lang if lang == NODE:
            leads = {path: _imported(path, held) for path in code}
            roots = [path for path in code if not any(path in leads[o] for o in code if o != path)]
            return [Parcel((root,), (*_closure(root, leads), *data)) for root in roots or code]
        case lang if lang in {RUST, PYTHON}:
            return [Parcel(tuple(code), (*code, *data), tuple(code))] if code else []
    return [Parcel(tuple(held), tuple(held))]


def dressed(stack: Stack, texts: Mapping[str, bytes]) -> dict[str, bytes]:
    """As they are laid into the tree, with what they need to empty themselves."""
    if stack.language != NODE:
        return dict(texts)
    made: dict[str, bytes] = {}
    for path, data in texts.items():
        if language_of(path) != NODE:
            made[path] = data
            continue
        module = _MODULE.search(data) is not None
        end = ".mjs" if module and stack.runner != "jest" else ".cjs"
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


def _imported(path: str, held: Mapping[str, bytes]) -> list[str]:
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


def with_held_out(project: Project, state: WorktreeState, tree: str, paths: Sequence[str]) -> str:
    """The tree with these held-out files in it."""
    contents: dict[str, tuple[str, bytes] | None] = {}
    for path in paths:
        mode, _, blob = state.held_out[path].partition(" ")
        contents[path] = (mode, project.workspace.blob_bytes(blob) or b"")
    return project.workspace.compose(tree, contents)
