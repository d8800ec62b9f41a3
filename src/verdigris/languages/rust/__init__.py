"""Rust, tested by cargo; a source file may contain tests."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.folder import FolderStubs, FolderTables
from verdigris.languages.grammar.language import GrammarLanguage, GrammarTestReader
from verdigris.languages.protocol import WithheldCode, lazy_modules, lazy_part

if TYPE_CHECKING:
    from tree_sitter import Node

    from verdigris.languages.findings import TestRegions
    from verdigris.languages.rust import test_regions, tests


if not TYPE_CHECKING:
    test_regions, tests = lazy_modules(__name__, "test_regions tests")


class RustTestReader(GrammarTestReader):
    def may_hold_tests(self, path: str) -> bool:
        return path.rpartition("/")[2] != "build.rs"

    def holds_test(self, data: bytes) -> bool:
        return b"#[test]" in data


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
    ids = lazy_part(f"{__name__}.modules.RustTestIds")
    tests = cached_property(RustTestReader)
    stubs = cached_property(FolderStubs)
    imports = lazy_part(f"{__name__}.modules.RustImports")
    held_out = cached_property(WithheldCode)
    unwraps = lazy_part(f"{__name__}.unwraps.RustUnwraps")
    grammar = cached_property(RustTables)


LANGUAGE = RustLanguage(FACTS["rust"])
