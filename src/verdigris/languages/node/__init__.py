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
    Tables,
)
from verdigris.languages.protocol import lazy_modules, lazy_part
from verdigris.languages.test_comments import Declared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from verdigris.languages.concern_rules import Rules
    from verdigris.languages.grammar import mutation
    from verdigris.languages.grammar.suite import TestPlace
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.node import forms, stub_places, stubs, test_ids, tests
    from verdigris.languages.probes import ByteEdit
    from verdigris.languages.stubs import Stub, WorktreeFiles


if not TYPE_CHECKING:
    forms, stub_places, stubs, test_ids, tests = lazy_modules(
        __name__, "forms stub_places stubs test_ids tests"
    )
    (mutation,) = lazy_modules("verdigris.languages.grammar", "mutation")


class NodeTestReader(GrammarTestReader):
    def may_hold_tests(self, path: str) -> bool:
        return ".config." not in path.rpartition("/")[2]


class NodeStubs(GrammarStubs):
    def missing_stubs(self, path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:  # noqa: ARG002 - the text shows enough
        return stub_places.stubs_of(path, files) if self.language.tests.has_grammar(path) else ()


class NodeLiveness(GrammarLiveness):
    tried_texts = (6, 3)


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
    ids = lazy_part(f"{__name__}.test_ids.NodeTestIds")
    tests = cached_property(NodeTestReader)
    stubs = cached_property(NodeStubs)
    imports = lazy_part(f"{__name__}.imports.NodeImports")
    liveness = cached_property(NodeLiveness)
    validation = lazy_part(f"{__name__}.validation.NodeValidation")
    held_out = lazy_part(f"{__name__}.imports.NodeHeldOut")
    grammar = cached_property(NodeTables)


LANGUAGE = NodeLanguage(FACTS["node"])
