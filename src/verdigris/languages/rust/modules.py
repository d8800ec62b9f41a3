"""The modules of a Rust file: before the names of its tests, and in its imports."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.languages.folders import first_known
from verdigris.languages.grammar.language import GrammarImports
from verdigris.languages.protocol import TestIds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.report import TestResult
    from verdigris.languages.findings import IdMark, Imported


class RustTestIds(TestIds):
    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:
        """The part of a reported name after the marked test's own name; None if it is another test."""
        function = split_id(result.native_id).function
        for around in _modules(path):
            whole = f"{around}{mark.test}"
            if function == whole or function.startswith(whole + "::"):
                return function[len(whole) :]
        return None

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        return f"{path}::{_modules(path)[0]}{mark.test}{case}"

    def makes(self, written: str, reported: str) -> bool:
        # The modules that contain the file may come before the name, and a case of its table after it.
        return f"::{written}::" in f"::{reported}::"


def _modules(path: str) -> tuple[str, ...]:
    """The module paths that may come before the name of a test in this file; the most likely comes first."""
    *parts, name = path.removesuffix(".rs").split("/")
    if name in {"lib", "main"}:
        return ("",)
    if name != "mod":
        parts.append(name)
    likely = len(parts) - _after_root(parts)
    lengths = sorted(range(len(parts) + 1), key=lambda length: (length != likely, length))
    return tuple("".join(f"{part}::" for part in parts[len(parts) - length :]) for length in lengths)


def _after_root(parts: list[str]) -> int:
    """The index at which module names begin: after the last `src`, or after a crate's name in `tests/`."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            inside = parts[index + 1 : index + 2]
            return min(index + (3 if inside == ["bin"] else 1), len(parts))
        if parts[index] in {"tests", "benches", "examples"}:
            return min(index + 2, len(parts))
    return len(parts)


_MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;", re.MULTILINE)
_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?:::)?((?:\w+::)*\w+)", re.MULTILINE)
_LIBRARIES = frozenset({"std", "core", "alloc", "self"})


class RustImports(GrammarImports):
    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - a crate is built whole
        return ()

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        folder, name = posixpath.split(path)
        own = folder if name in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
        for module in _MOD.findall(text):
            tried = (f"{at}/{module}{end}" for at in (own, folder) for end in (".rs", "/mod.rs"))
            yield from first_known((posixpath.normpath(each) for each in tried), files)
        crate = folder
        while crate and f"{crate}/Cargo.toml" not in files:
            crate = posixpath.dirname(crate)
        source = posixpath.join(crate, "src")
        for use in _USE.findall(text):
            top, *parts = use.split("::")
            if top in _LIBRARIES:
                continue
            if top != "super":
                yield from first_known((f"{source}/lib.rs", f"{source}/main.rs"), files)
            at = folder if top == "super" else source
            for part in parts:
                at = posixpath.join(at, part)
                yield from first_known((f"{at}.rs", f"{at}/mod.rs"), files)
