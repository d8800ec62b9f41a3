"""Rust, tested by cargo; a source file may contain tests."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.language import (
    GrammarImports,
    GrammarLanguage,
    GrammarStubs,
    GrammarTestReader,
    Tables,
)
from verdigris.languages.protocol import TestIds, Unwraps, WithheldCode, lazy_modules, lazy_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from verdigris.core.report import Failure, TestResult
    from verdigris.languages.concern_rules import Rules
    from verdigris.languages.findings import IdMark, Imported, TestRegions
    from verdigris.languages.grammar import mutation, trees
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.probes import ByteEdit
    from verdigris.languages.rust import forms, stub_places, stubs, test_regions, tests
    from verdigris.languages.rust import text as rust_text
    from verdigris.languages.stubs import Stub, WorktreeFiles
    from verdigris.languages.test_comments import Declared


if not TYPE_CHECKING:
    forms, stub_places, stubs, test_regions, tests, rust_text = lazy_modules(
        __name__, "forms stub_places stubs test_regions tests text"
    )
    mutation, trees = lazy_modules("verdigris.languages.grammar", "mutation trees")


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


class RustStubs(GrammarStubs):
    def missing_stubs(self, path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:  # noqa: ARG002 - the text shows enough
        return stub_places.stubs_of(path, files)


class RustImports(GrammarImports):
    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - a crate is built whole
        return ()

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        return rust_text.imported_files(path, text, files)


class RustUnwraps(Unwraps):
    def gave_up(self, failure: Failure) -> bool:
        return not failure.assertion and failure.kind in rust_text.KINDS

    def functions(self, sources: Mapping[str, bytes]) -> dict[str, str]:
        bare = {path: self.language.without_tests(data) for path, data in sources.items()}
        return rust_text.find_definitions(
            {path: data.decode("utf-8", "surrogateescape") for path, data in bare.items()}
        )

    def subject_of(
        self, failure: Failure, text: str, function: str, known: Mapping[str, str]
    ) -> tuple[str, int] | None:
        root, _ = trees.tree_of("lib.rs", text.encode("utf-8", "surrogateescape"))
        return rust_text.find_unwrapped(
            failure, text, rust_text.find_span(tests.declared(root), function), known
        )


class RustTables(Tables):
    def declared(self, root: Node) -> list[Declared]:
        return tests.declared(root)

    def suite(self, path: str) -> tests.RustSuite:
        return tests.RustSuite(path)

    def stub_forms(self) -> stubs.RustForms:
        return stubs.RustForms()

    def answer_forms(self) -> AnswerForms:
        return forms.FORMS

    def expectations(self) -> forms.RustExpectations:
        return forms.RustExpectations()

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
        return forms.skip_edits(place, data, why)

    def code_in_comments(self, root: Node) -> list[str]:
        """Adds the examples of documentation comments, since cargo runs them as tests."""
        return [*super().code_in_comments(root), *tests.doc_examples(root)]

    def concern_rules(self) -> Rules:
        return forms.RULES

    def mutation_forms(self) -> mutation.MutationForms:
        return mutation.MutationForms('if true { panic!("not run by any test") }')


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
    stubs = cached_property(RustStubs)
    imports = cached_property(RustImports)
    held_out = cached_property(WithheldCode)
    unwraps = cached_property(RustUnwraps)
    grammar = cached_property(RustTables)


LANGUAGE = RustLanguage(FACTS["rust"])
