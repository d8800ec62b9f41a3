"""JavaScript and TypeScript, tested by vitest, jest or node's own test tool."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.grammar.language import (
    GrammarLanguage,
    GrammarLiveness,
    GrammarStubs,
    GrammarTestReader,
    GrammarValidation,
    Tables,
)
from verdigris.languages.protocol import TestIds, lazy_modules, lazy_part
from verdigris.languages.test_comments import Declared

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tree_sitter import Node

    from verdigris.core.report import TestResult
    from verdigris.languages.concern_rules import Rules
    from verdigris.languages.findings import (
        IdMark,
        TestFault,
        TestText,
    )
    from verdigris.languages.grammar import mutation
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.node import forms, stub_places, stubs, test_ids, tests, validation
    from verdigris.languages.probes import ByteEdit
    from verdigris.languages.stubs import Stub, WorktreeFiles


if not TYPE_CHECKING:
    forms, stub_places, stubs, test_ids, tests, validation = lazy_modules(
        __name__, "forms stub_places stubs test_ids tests validation"
    )
    (mutation,) = lazy_modules("verdigris.languages.grammar", "mutation")


class NodeTestIds(TestIds):
    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:  # noqa: ARG002 - by names
        return test_ids.case_of(mark, result)

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        return test_ids.native_id(path, mark, case)

    def name_parts(self, native: str) -> tuple[str, ...]:
        return test_ids.split_node_id(native).names

    def written_id(self, path: str, mark: IdMark) -> str | None:
        return test_ids.written_id(path, mark)

    def makes(self, written: str, reported: str) -> bool:
        return written == reported or test_ids.can_become(written, reported)

    def encloses(self, written: str, reported: str) -> bool:
        return written.startswith(f"{reported}{test_ids.SEPARATOR}")


class NodeTestReader(GrammarTestReader):
    def may_hold_tests(self, path: str) -> bool:
        return ".config." not in path.rpartition("/")[2]


class NodeStubs(GrammarStubs):
    def missing_stubs(self, path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:  # noqa: ARG002 - the text shows enough
        return stub_places.stubs_of(path, files) if self.language.tests.has_grammar(path) else ()


class NodeLiveness(GrammarLiveness):
    tried_texts = (6, 3)


class NodeValidation(GrammarValidation):
    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        found = super().empty_assertions(test)
        lines = self._lines(test)
        if found is None or lines is None:
            return None
        known = {fault.line for fault in found}
        return (
            *found,
            *(fault for fault in validation.find_unheard(test, *lines) if fault.line not in known),
        )

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:  # noqa: ARG002 - by relative paths
        lines = self._lines(test)
        return None if lines is None else validation.find_mocked_subjects(test, lines)

    def _lines(self, test: TestText) -> tuple[int, int] | None:
        written = self.language.tests.written_tests(test.path, test.texts.get(test.path, ""), ())
        return next(((one.first, one.last) for one in written if one.name == test.name), None)


class NodeTables(Tables):
    def declared(self, root: Node) -> list[Declared]:
        return [
            Declared(one.line, one.line, one if one.is_test else None) for one in test_ids.declarations(root)
        ]

    def suite(self, path: str) -> tests.NodeSuite:
        return tests.NodeSuite(path)

    def stub_forms(self) -> stubs.NodeForms:
        return stubs.NodeForms()

    def answer_forms(self) -> AnswerForms:
        return forms.FORMS

    def expectations(self) -> forms.NodeExpectations:
        return forms.NodeExpectations()

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:
        return tests.skip_edits(place, data, why)

    def concern_rules(self) -> Rules:
        return forms.RULES

    def mutation_forms(self) -> mutation.MutationForms:
        statement = 'if (true) throw new Error("not run by any test");'
        return mutation.MutationForms(statement, f"(() => {{ {statement} }})()")


class NodeLanguage(GrammarLanguage):
    role_words = """\
JAVASCRIPT AND TYPESCRIPT. Follow the project: its module system, its file names for tests (`*.test.ts` or \
the like), its test library. In TypeScript everything has to type-check, so stub what a test needs and \
export it:
export function add(numbers: string): number {
  return -1; // STUB:TDD
}
A constant that makes the assertion fail is better than a `throw`. Add no dependency."""

    project = lazy_part(f"{__name__}.project.NodeProject")
    ids = cached_property(NodeTestIds)
    tests = cached_property(NodeTestReader)
    stubs = cached_property(NodeStubs)
    imports = lazy_part(f"{__name__}.imports.NodeImports")
    liveness = cached_property(NodeLiveness)
    validation = cached_property(NodeValidation)
    held_out = lazy_part(f"{__name__}.imports.NodeHeldOut")
    grammar = cached_property(NodeTables)


LANGUAGE = NodeLanguage(FACTS["node"])
