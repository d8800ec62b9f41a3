"""Which files of a project a Rust text names by `mod` and `use`."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.languages.folders import first_known

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;", re.MULTILINE)
_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?:::)?((?:\w+::)*\w+)", re.MULTILINE)
_LIBRARIES = frozenset({"std", "core", "alloc", "self"})


def imported_files(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    folder, name = posixpath.split(path)
    own = folder if name in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    for module in _MOD.findall(text):
        tried = (f"{at}/{module}{end}" for at in (own, folder) for end in (".rs", "/mod.rs"))
        yield from first_known((posixpath.normpath(each) for each in tried), files)
    source = _crate_source(folder, files)
    for use in _USE.findall(text):
        top, *parts = use.split("::")
        if top in _LIBRARIES:
            continue
        if top != "super":
            yield from first_known((f"{source}/lib.rs", f"{source}/main.rs"), files)
        yield from _parts(folder if top == "super" else source, parts, files)


def _parts(at: str, parts: list[str], files: frozenset[str]) -> Iterator[str]:
    for part in parts:
        at = posixpath.join(at, part)
        yield from first_known((f"{at}.rs", f"{at}/mod.rs"), files)


def _crate_source(folder: str, files: frozenset[str]) -> str:
    """The `src` folder of the crate that a file belongs to."""
    at = folder
    while at and f"{at}/Cargo.toml" not in files:
        at = posixpath.dirname(at)
    return posixpath.join(at, "src")
