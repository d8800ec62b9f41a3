"""Rust, as cargo tests it; tests may stand among the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.language import GrammarLanguage
from verdigris.languages.protocol import Examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.paths import Detected
    from verdigris.core.report import Failure, TestResult
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import IdMark, Imported, Parcel, TestComment, TestRegions
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.grammar.concerns import Rule
    from verdigris.languages.grammar.mutation import Failing
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.probes import ByteEdit
    from verdigris.languages.rust.forms import RustExpectations
    from verdigris.languages.rust.stubs import RustForms
    from verdigris.languages.rust.tests import RustSuite
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Files, Stub


class RustLanguage(GrammarLanguage):
    bare_runner = "cargo"
    examples = Examples(
        ("src/schema.rs",), ("tests/api.rs",), ("--features", "full"), "cargo clippy --offline", "rustfmt"
    )
    role_words = """\
RUST. Tests stand in `tests/*.rs` or in a `#[cfg(test)] mod tests` of the source file; the part of a file \
inside it is test, the rest source. A test that does not compile is no red, so stub what it needs, with a \
body that compiles:
pub fn score(_rolls: &[u32]) -> u32 {
    0 // STUB:TDD
}
A constant that makes the assertion fail is better than `todo!()`. Clippy's warnings are errors. Add no \
dependency."""

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - one tool
        from verdigris.languages.rust.project import PLACES

        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:  # noqa: ARG002 - one manifest
        from verdigris.languages.rust.project import manifest

        return manifest(text)

    def layout(self, home: Path) -> Detected:
        from verdigris.languages.rust.project import layout

        return layout(home)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        from verdigris.languages.rust.project import find_stacks

        return find_stacks(known)

    def starter(self) -> Starter:
        from verdigris.languages.rust import project
        from verdigris.languages.starter import Starter

        return Starter(project.script, project)

    # -- tests among the source ------------------------------------------------------------------------------

    def test_regions(self) -> TestRegions:
        from verdigris.languages.rust import test_regions

        return test_regions

    def holds_test(self, data: bytes) -> bool:
        return b"#[test]" in data

    def without_tests(self, data: bytes) -> bytes:
        from verdigris.languages.rust.test_regions import without_tests

        return without_tests(data)

    def gave_up(self, failure: Failure) -> bool:
        from verdigris.languages.rust.text import KINDS

        return not failure.assertion and failure.kind in KINDS

    def defined_functions(self, sources: Mapping[str, bytes]) -> dict[str, str]:
        from verdigris.languages.rust.text import find_definitions

        bare = {path: self.without_tests(data) for path, data in sources.items()}
        return find_definitions(
            {path: data.decode("utf-8", "surrogateescape") for path, data in bare.items()}
        )

    def subject_of(
        self, failure: Failure, text: str, function: str, known: Mapping[str, str]
    ) -> tuple[str, int] | None:
        from verdigris.languages.rust.text import find_unwrapped

        return find_unwrapped(failure, text, function, known)

    # -- ids of tests ----------------------------------------------------------------------------------------

    def marks(self, text: str) -> tuple[IdMark, ...]:
        from verdigris.languages.rust.text import READER

        return READER.marks(text)

    def test_comments(self, text: str) -> tuple[TestComment, ...]:
        from verdigris.languages.rust.text import READER

        return READER.comments(text)

    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:
        from verdigris.languages.rust.text import case_of

        return case_of(str(mark.test), path, result)

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        from verdigris.languages.rust.text import modules

        return f"{path}::{modules(path)[0]}{mark.test}{case}"

    def makes(self, written: str, reported: str) -> bool:
        # Modules that lead to the file may stand before it, and the cases of its table behind.
        return f"::{written}::" in f"::{reported}::"

    # -- stubs -----------------------------------------------------------------------------------------------

    def missing_stubs(self, path: str, files: Files) -> tuple[Stub, ...]:
        from verdigris.languages.rust.stub_places import stubs_of

        return stubs_of(path, files)

    def imports(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - a crate is built whole
        return ()

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        from verdigris.languages.rust.text import imported_files

        return imported_files(path, text, files)

    def parcels(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:  # noqa: ARG002
        from verdigris.languages.findings import Parcel

        return [Parcel(tuple(code), (*code, *data), tuple(code))] if code else []

    # -- tables of the grammar -------------------------------------------------------------------------------

    def suite(self, path: str) -> RustSuite:
        from verdigris.languages.rust.tests import RustSuite

        return RustSuite(path)

    def stub_forms(self) -> RustForms:
        from verdigris.languages.rust.stubs import RustForms

        return RustForms()

    def answer_forms(self) -> AnswerForms:
        from verdigris.languages.rust.forms import FORMS

        return FORMS

    def expectations(self) -> RustExpectations:
        from verdigris.languages.rust.forms import RustExpectations

        return RustExpectations()

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
        from verdigris.languages.rust.forms import skip_edits

        return skip_edits(place, data, why)

    def concern_rules(self) -> Sequence[Rule]:
        from verdigris.languages.rust.forms import RULES

        return RULES

    def failing(self) -> Failing:
        from verdigris.languages.grammar.mutation import Failing

        return Failing('if true { panic!("not run by any test") }')


LANGUAGE = RustLanguage(FACTS["rust"])
