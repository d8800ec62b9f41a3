"""Rust, tested by cargo; a source file may contain tests."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.folder import FolderStubs, FolderTables
from verdigris.languages.grammar.language import GrammarImports, GrammarLanguage, GrammarTestReader
from verdigris.languages.protocol import HeldOut, TestIds, lazy_modules, lazy_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.core.report import TestResult
    from verdigris.languages import findings
    from verdigris.languages.findings import HeldGroup, IdMark, Imported, TestRegions
    from verdigris.languages.rust import test_regions, tests
    from verdigris.languages.rust import text as rust_text


if not TYPE_CHECKING:
    test_regions, tests, rust_text = lazy_modules(__name__, "test_regions tests text")
    (findings,) = lazy_modules("verdigris.languages", "findings")


class RustTestIds(TestIds):
    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:
        return rust_text.case_of(str(mark.test), path, result)

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        return f"{path}::{rust_text.modules(path)[0]}{mark.test}{case}"

    def makes(self, written: str, reported: str) -> bool:
        # The modules that contain the file may come before the name, and a case of its table after it.
        return f"::{written}::" in f"::{reported}::"


class RustTestReader(GrammarTestReader):
    def may_hold_tests(self, path: str) -> bool:
        return path.rpartition("/")[2] != "build.rs"

    def holds_test(self, data: bytes) -> bool:
        return b"#[test]" in data


class RustImports(GrammarImports):
    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - a crate is built whole
        return ()

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        return rust_text.imported_files(path, text, files)


class RustHeldOut(HeldOut):
    def groups(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[HeldGroup]:  # noqa: ARG002
        return [findings.HeldGroup(tuple(code), (*code, *data), tuple(code))] if code else []


class RustTables(FolderTables):
    def code_in_comments(self, root: Node) -> list[str]:
        """Adds the examples of documentation comments, since cargo runs them as tests."""
        return [*super().code_in_comments(root), *tests.doc_examples(root)]


class RustLanguage(GrammarLanguage):
    role_words = """\
RUST. Tests stand in `tests/*.rs` or in a `#[cfg(test)] mod tests` of the source file; the part of a file \
inside it is test, the rest source. A test that does not compile is no red, so stub what it needs, with a \
body that compiles:
pub fn score(_rolls: &[u32]) -> u32 {
    0 // STUB:TDD
}
A constant that makes the assertion fail is better than `todo!()`. Clippy's warnings are errors. Add no \
dependency."""

    def test_regions(self) -> TestRegions:
        return test_regions

    project = lazy_part(f"{__name__}.project.RustProject")
    ids = cached_property(RustTestIds)
    tests = cached_property(RustTestReader)
    stubs = cached_property(FolderStubs)
    imports = cached_property(RustImports)
    held_out = cached_property(RustHeldOut)
    unwraps = lazy_part(f"{__name__}.unwraps.RustUnwraps")
    grammar = cached_property(RustTables)


LANGUAGE = RustLanguage(FACTS["rust"])
