"""Where imports of JavaScript and TypeScript lead, and which test files reach a change."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.languages.folders import first_known
from verdigris.languages.grammar.imports import MOST_FILES, closure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.findings import Imported
    from verdigris.languages.protocol import Importable, ReadMany

_RELATIVE = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.[^"'\n]*)["']""")
_NODE_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'`]([^"'`\n]+)["'`]""")
_NODE_ENDS = (".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json")


def reaching(
    tests: Sequence[str], goals: frozenset[str], files: frozenset[str], read: ReadMany
) -> frozenset[str]:
    leads: dict[str, set[str]] = {}
    waiting = list(tests)
    while waiting and len(leads) < MOST_FILES:
        texts = read(waiting)
        for path in waiting:
            told = _NODE_IMPORT.findall(texts.get(path) or b"")
            names = (name.decode("utf-8", "replace") for name in told)
            leads[path] = {found for name in names for found in _resolve_import(path, name, files)}
        waiting = sorted({to for path in waiting for to in leads[path]} - leads.keys())
    return frozenset(test for test in tests if closure(test, leads) & goals)


def _resolve_import(path: str, name: str, files: frozenset[str]) -> list[str]:
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


def import_targets(path: str, one: Imported, files: Importable) -> Iterator[str]:
    """As Node and bundlers look: the file, or one of its name with an ending, or an index."""
    if not one.module.startswith("."):
        return
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), one.module))
    if place in files.paths:
        yield place
        return
    folder, slash, name = place.rpartition("/")
    yield from files.stems.get(folder + slash + name.partition(".")[0], ())
    yield from files.stems.get(f"{place}/index", ())


def imported_files(path: str, text: str, files: frozenset[str], suffixes: tuple[str, ...]) -> Iterator[str]:
    """In the order of the text."""
    folder = posixpath.dirname(path)
    for name in _RELATIVE.findall(text):
        at = posixpath.normpath(posixpath.join(folder, name))
        stem, dot = posixpath.splitext(at)
        # TypeScript names the file that will be made of the one it means.
        meant = [stem] if dot in suffixes else []
        tried = [base + end for base in (*meant, at) for end in suffixes]
        yield from first_known((at, *tried, *(f"{at}/index{end}" for end in suffixes)), files)
