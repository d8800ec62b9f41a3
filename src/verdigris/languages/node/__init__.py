"""JavaScript and TypeScript, as vitest, jest and node's own tool test them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.language import GrammarLanguage
from verdigris.languages.protocol import Examples

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from verdigris.core.paths import Detected
    from verdigris.core.report import TestResult
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import (
        IdMark,
        Importable,
        Imported,
        Parcel,
        ReadMany,
        TestComment,
        TestFault,
        TestText,
    )
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.grammar.concerns import Rule
    from verdigris.languages.grammar.mutation import Failing
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.node.forms import NodeExpectations
    from verdigris.languages.node.stubs import NodeForms
    from verdigris.languages.node.tests import NodeSuite
    from verdigris.languages.probes import ByteEdit
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Files, Stub


class NodeLanguage(GrammarLanguage):
    packages_folder = "node_modules"
    tried_texts = (6, 3)
    bare_runner = "node-test"
    """It needs no package."""
    examples = Examples(("src/generated/**",), ("src", "test"), ("--silent",), "eslint .", "prettier --write")
    role_words = """\
JAVASCRIPT AND TYPESCRIPT. Follow the project: its module system, its file names for tests (`*.test.ts` or \
the like), its test library. In TypeScript everything has to type-check, so stub what a test needs and \
export it:
export function add(numbers: string): number {
  return -1; // STUB:TDD
}
A constant that makes the assertion fail is better than a `throw`. Add no dependency."""

    def conventions(self, runner: str) -> Usual:
        from verdigris.languages.node.project import places

        return places(runner)

    def runner_keys(self, name: str, text: str) -> bytes:
        from verdigris.languages.node.project import compiler, package

        return package(text) if name == "package.json" else compiler(text)

    def layout(self, home: Path) -> Detected:
        from verdigris.languages.node.project import layout

        return layout(home)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:  # noqa: ARG002 - a mark is enough
        from verdigris.languages.node.stacks import find_stacks

        return find_stacks(root, known)

    def detect_bare(self, root: Path, known: Sequence[Folder]) -> FoundStacks:
        from verdigris.languages.node.stacks import bare

        return bare(root, known)

    def starter(self) -> Starter:
        from verdigris.languages.node import project
        from verdigris.languages.starter import Starter

        return Starter(project.script, project)

    # -- ids of tests ----------------------------------------------------------------------------------------

    def marks(self, text: str) -> tuple[IdMark, ...]:
        from verdigris.languages.node.test_ids import read_annotations

        return read_annotations(text)

    def test_comments(self, text: str) -> tuple[TestComment, ...]:
        from verdigris.languages.node.test_ids import comments

        return comments(text)

    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:  # noqa: ARG002 - by names
        from verdigris.languages.node.test_ids import case_of

        return case_of(mark, result)

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        from verdigris.languages.node.test_ids import native_id

        return native_id(path, mark, case)

    def written_id(self, path: str, mark: IdMark) -> str | None:
        from verdigris.languages.node.test_ids import written_id

        return written_id(path, mark)

    def makes(self, written: str, reported: str) -> bool:
        from verdigris.languages.node.test_ids import fills

        return written == reported or fills(written, reported)

    def encloses(self, written: str, reported: str) -> bool:
        from verdigris.languages.node.test_ids import SEPARATOR

        return written.startswith(f"{reported}{SEPARATOR}")

    # -- stubs and imports -----------------------------------------------------------------------------------

    def missing_stubs(self, path: str, files: Files) -> tuple[Stub, ...]:
        from verdigris.languages.node.stub_places import stubs_of

        return stubs_of(path, files) if self.has_grammar(path) else ()

    def import_targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        from verdigris.languages.node.imports import import_targets

        return import_targets(path, one, files)

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        from verdigris.languages.node.imports import imported_files

        return imported_files(path, text, files, self.facts.suffixes)

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        from verdigris.languages.node.imports import reaching

        return reaching([*tests], frozenset(changed), frozenset(files), read)

    # -- what a validator of tests asks ----------------------------------------------------------------------

    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        from verdigris.languages.node.validation import find_unheard

        found = super().empty_assertions(test)
        lines = self._lines(test)
        if found is None or lines is None:
            return None
        known = {fault.line for fault in found}
        return (*found, *(fault for fault in find_unheard(test, *lines) if fault.line not in known))

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:  # noqa: ARG002 - by relative paths
        from verdigris.languages.node.validation import find_mocked_subjects

        lines = self._lines(test)
        return None if lines is None else find_mocked_subjects(test, lines)

    def _lines(self, test: TestText) -> tuple[int, int] | None:
        written = self.written_tests(test.path, test.texts.get(test.path, ""), ())
        return next(((one.first, one.last) for one in written if one.name == test.name), None)

    # -- held-out tests --------------------------------------------------------------------------------------

    def parcels(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:
        from verdigris.languages.node.imports import parcels

        return parcels(code, data, held)

    def dress(self, texts: Mapping[str, bytes], *, loads_modules: bool) -> dict[str, bytes]:
        from verdigris.languages.node.imports import dress

        return dress(texts, self.facts.suffixes, loads_modules=loads_modules)

    # -- tables of the grammar -------------------------------------------------------------------------------

    def suite(self, path: str) -> NodeSuite:
        from verdigris.languages.node.tests import NodeSuite

        return NodeSuite(path)

    def stub_forms(self) -> NodeForms:
        from verdigris.languages.node.stubs import NodeForms

        return NodeForms()

    def answer_forms(self) -> AnswerForms:
        from verdigris.languages.node.forms import FORMS

        return FORMS

    def expectations(self) -> NodeExpectations:
        from verdigris.languages.node.forms import NodeExpectations

        return NodeExpectations()

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
        from verdigris.languages.node.tests import skip_edits

        return skip_edits(place, data, why)

    def concern_rules(self) -> Sequence[Rule]:
        from verdigris.languages.node.forms import RULES

        return RULES

    def failing(self) -> Failing:
        from verdigris.languages.grammar.mutation import Failing

        statement = 'if (true) throw new Error("not run by any test");'
        return Failing(statement, f"(() => {{ {statement} }})()")


LANGUAGE = NodeLanguage(FACTS["node"])
