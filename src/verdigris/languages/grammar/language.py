"""`GrammarLanguage`: the base of all languages that tree-sitter parses; each supplies its own tables."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.value import replace
from verdigris.languages.concern_rules import Rules
from verdigris.languages.grammar.trees import (
    directives,
    grammar_of,
    read_comments,
    read_imports,
    same_tree,
    tree_of,
)
from verdigris.languages.probes import apply_edits
from verdigris.languages.protocol import (
    Imports,
    Language,
    Liveness,
    Part,
    SourceReader,
    Stubs,
    TestReader,
    Validation,
    lazy_modules,
)
from verdigris.languages.test_comments import assign_comments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from tree_sitter import Node

    from verdigris.languages import assertions, findings
    from verdigris.languages.assertions import TestFile, TestReading
    from verdigris.languages.findings import (
        Concern,
        IdMark,
        Imported,
        Mutated,
        Removals,
        SourceChange,
        StubBody,
        StubFinding,
        TestComment,
        TestFacts,
        TestFault,
        TestText,
        Weakening,
        WrittenTest,
    )
    from verdigris.languages.grammar import (
        bindings,
        concerns,
        content,
        literals,
        mutation,
        probes,
        removals,
        stubs,
        validation,
        weakening,
    )
    from verdigris.languages.grammar.expectations import Expectations
    from verdigris.languages.grammar.mutation import MutationForms
    from verdigris.languages.grammar.stubs import Forms
    from verdigris.languages.grammar.suite import GrammarSuite, TestPlace
    from verdigris.languages.grammar.trees import Unparsed
    from verdigris.languages.grammar.validation import AnswerForms
    from verdigris.languages.literals import Chance, RenamedWords, Replaced
    from verdigris.languages.probes import ByteEdit, Probe
    from verdigris.languages.test_comments import Declared


if not TYPE_CHECKING:
    bindings, concerns, content, literals, mutation, probes, removals, stubs, validation, weakening = (
        lazy_modules(
            "verdigris.languages.grammar",
            "bindings concerns content literals mutation probes removals stubs validation weakening",
        )
    )
    assertions, findings = lazy_modules("verdigris.languages", "assertions findings")


class Tables(Part):
    """What a language supplies; all other parts follow from it."""

    def suite(self, path: str) -> GrammarSuite:
        """The reader for the tests of a file."""
        raise NotImplementedError

    def stub_forms(self) -> Forms:
        """How the language writes declarations and stubs."""
        raise NotImplementedError

    def expectations(self) -> Expectations:
        """How the language writes assertions."""
        raise NotImplementedError

    def answer_forms(self) -> AnswerForms | None:
        """How the language returns constants; None if stubs cannot be changed."""
        return None

    def concern_rules(self) -> Rules:
        return Rules({}, {})

    def mutation_forms(self) -> MutationForms:
        """How the language writes what a mutant needs."""
        raise NotImplementedError

    def skip_edits(self, place: TestPlace, data: bytes, why: str) -> tuple[ByteEdit, ...] | None:  # noqa: ARG002 - a default
        """The edits that mark a test as skipped; empty if it is marked, None if its form cannot be marked."""
        return None

    def declared(self, root: Node) -> Sequence[Declared]:  # noqa: ARG002 - a default
        """The tests, and what else may stand below a comment, in the order of the text."""
        return ()

    def code_in_comments(self, root: Node) -> list[str]:
        """The comments below a root that a tool executes, such as directives."""
        return directives(root)


class GrammarPart(Part):
    language: GrammarLanguage


class GrammarTestReader(GrammarPart, TestReader):
    def has_grammar(self, path: str) -> bool:
        return "." + path.rpartition("/")[2].rpartition(".")[2] in self.language.facts.grammars

    def read_tests(self, files: Mapping[str, bytes]) -> dict[str, TestReading]:
        trees = {path: tree_of(path, data) for path, data in files.items()}
        suites = {path: self.language.grammar.suite(path) for path in trees}
        for path, suite in suites.items():
            suite.collect(trees[path][0])
        shared = {name: node for suite in suites.values() for name, node in suite.functions.items()}
        for suite in suites.values():
            suite.shared = shared
        return {path: _read(suites[path], *trees[path]) for path in files}

    def reading(self, path: str, text: str) -> TestReading:
        return self.read_tests({path: text.encode("utf-8", "surrogateescape")})[path]

    def read_test_file(self, path: str, text: str) -> TestFile:
        reading = self.reading(path, text)
        if not reading.whole:
            raise SyntaxError(path)
        return reading.as_test_file()

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:
        if not self.has_grammar(path):
            return super().written_tests(path, text, known)
        return (
            findings.WrittenTest(test.name, test.line, test.last) for test in self.reading(path, text).tests
        )

    def test_facts(self, path: str, text: str, mark: IdMark) -> TestFacts | None:
        if not self.has_grammar(path):
            return None
        reading = self.reading(path, text)
        below = (test for test in reading.tests if test.line > mark.line)
        test = min(below, key=lambda one: one.line, default=None)
        if test is None or (isinstance(mark.test, str) and test.name != mark.test):
            return None
        return reading.facts_of(test.name)

    def test_comments(self, path: str, text: str) -> tuple[TestComment, ...]:
        root, _ = tree_of(path, text.encode("utf-8", "surrogateescape"))
        return assign_comments(read_comments(root), self.language.grammar.declared(root))

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:
        return mark_skipped(self.language, path, data, name, why) if self.has_grammar(path) else None

    def parses(self, path: str, text: str) -> bool:
        return not self.has_grammar(path) or self.reading(path, text).whole

    def weakenings(
        self, before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str]
    ) -> tuple[Weakening, ...]:
        sides = (
            {path: text.encode("utf-8", "surrogateescape") for path, text in side.items()}
            for side in (before, after)
        )
        return weakening.plain_weakenings(*map(self.read_tests, sides), revised=revised)


class GrammarStubs(GrammarPart, Stubs):
    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        if not self.language.tests.has_grammar(path):
            return super().beyond_stubs(path, before, after)
        before, after = (
            None if before is None else self.language.without_tests(before),
            self.language.without_tests(after),
        )
        if before is not None and self.language.source.same_tree(path, before, after):
            return None
        return stubs.only_stubs(self.language.grammar.stub_forms(), path, before, after)

    def declare(self, path: str, before: bytes, after: bytes, *, old_work: bool) -> bytes | None:
        if not self.language.tests.has_grammar(path) or not (
            old_work or self.language.grammar.stub_forms().is_compiled
        ):
            return None
        return stubs.declare_later(self.language.grammar.stub_forms(), path, before, after, old_work=old_work)


class GrammarImports(GrammarPart, Imports):
    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:
        return read_imports(path, data) if self.language.tests.has_grammar(path) else ()


class GrammarSourceReader(GrammarPart, SourceReader):
    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:
        return self.language.tests.has_grammar(path) and same_tree(
            path, before, after, self.language.grammar.code_in_comments
        )

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        return mutation.mutate_by_grammar(
            self.language.grammar.mutation_forms(), self.language.without_tests, before, after
        )

    def removals(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        elsewhere: Mapping[str, bytes | None],
    ) -> Removals:
        return removals.find_removals(
            self.language.grammar.mutation_forms(), self.language.without_tests, before, after, elsewhere
        )

    def renamed_words(
        self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
    ) -> RenamedWords | None:
        sides = (
            {path: data for path, data in side.items() if self.language.tests.has_grammar(path)}
            for side in (before, after)
        )
        return bindings.read_renaming(
            *(mutation.read_roots(self.language.without_tests, side) for side in sides)
        )

    def concerns(self, change: SourceChange) -> tuple[Concern, ...]:
        strip = self.language.without_tests
        before, after = (
            {
                path: data
                for path, data in texts.items()
                if data is not None and self.language.tests.has_grammar(path)
            }
            for texts in (change.before, change.after)
        )
        bare = ({path: strip(data) for path, data in texts.items()} for texts in (before, after))
        # Tests of every grammar count: source of one language may be tested in another.
        tests = ((path, data) for path, data in change.tests.items() if grammar_of(path) is not None)
        copied = concerns.copied_answers(strip, before, after, tests)
        return (*concerns.grammar_concerns(self.language.grammar.concern_rules(), *bare), *copied)


class GrammarLiveness(GrammarPart, Liveness):
    def probes(
        self, texts: Mapping[str, bytes], asked: Iterable[str], dice: Random, count: int
    ) -> tuple[Probe, ...]:
        places = probes.places_of(self.language, self.language.grammar.suite, texts, asked)
        return probes.make_probes(places, self.language.grammar.expectations(), dice, count)

    def contents(
        self,
        texts: Mapping[str, bytes],
        asked: Iterable[str],
        *,
        strict: bool = False,  # noqa: ARG002 - a run costs too much
    ) -> tuple[Probe, ...]:
        places = probes.places_of(self.language, self.language.grammar.suite, texts, asked)
        return content.content_probes(places, self.language.grammar.expectations().content_edits)

    def other_inputs(
        self, path: str, data: bytes, lot: Chance, tried: Collection[int] = ()
    ) -> tuple[Replaced, ...]:
        tests = self.language.tests.written_tests(path, data.decode("utf-8", "surrogateescape"), ())
        return literals.replace_by_grammar(path, data, tests, lot, tried)


class GrammarValidation(GrammarPart, Validation):
    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        return (
            validation.find_empty_assertions(self.language.grammar.suite, test)
            if self.language.tests.has_grammar(test.path)
            else None
        )

    def expected_literals(self, test: TestText) -> tuple[str, ...]:
        text = test.texts.get(test.path, "")
        return (
            validation.expected_literals(self.language.tests.reading(test.path, text), test.name)
            if self.language.tests.has_grammar(test.path)
            else ()
        )

    def stub_bodies(
        self, path: str, before: bytes | None, after: bytes, literals: Sequence[str], dice: Random
    ) -> tuple[StubBody, ...] | None:
        forms = self.language.grammar.answer_forms()
        if forms is None or not self.language.tests.has_grammar(path):
            return None
        old, new = self.language.without_tests(before or b""), self.language.without_tests(after)
        return validation.stub_bodies(forms, path, old, new, literals, dice)


class GrammarLanguage(Language):
    tests = cached_property(GrammarTestReader)
    stubs = cached_property(GrammarStubs)
    imports = cached_property(GrammarImports)
    source = cached_property(GrammarSourceReader)
    liveness = cached_property(GrammarLiveness)
    validation = cached_property(GrammarValidation)
    grammar = cached_property(Tables)


def _read(suite: GrammarSuite, root: Node, fault: Unparsed | None) -> TestReading:
    try:
        return replace(suite.read(root), whole=fault is None)
    except RecursionError:
        return assertions.TestReading(whole=False)


def mark_skipped(language: GrammarLanguage, path: str, data: bytes, name: str, why: str) -> bytes | None:
    """See `TestReader.with_skip`. Also None if the text does not parse, before or after the edit."""
    root, fault = tree_of(path, data)
    if fault is not None:
        return None
    place = _find_place(language, _read_places(language, path, root), name)
    edits = None if place is None else language.grammar.skip_edits(place, data, why)
    if edits is None:
        return None
    after = apply_edits(data, edits)
    return after if tree_of(path, after)[1] is None else None


def _read_places(language: GrammarLanguage, path: str, root: Node) -> Sequence[TestPlace]:
    suite = language.grammar.suite(path)
    try:
        suite.collect(root)
        suite.read(root)
    except RecursionError:
        return ()
    return suite.places


def _find_place(language: GrammarLanguage, places: Sequence[TestPlace], name: str) -> TestPlace | None:
    """The test of that name, or the innermost test that a run reports under it; None if two tests fit."""
    fits = [place for place in places if language.ids.makes(place.name, name)]
    longest = max((len(place.name) for place in fits), default=0)
    inmost = [place for place in fits if place.name == name] or [p for p in fits if len(p.name) == longest]
    nodes = {place.node.id for place in inmost}
    return inmost[0] if len(nodes) == 1 else None


def indent_at(data: bytes, at: int) -> str | None:
    """The white space before this offset on its line; None if other text stands there."""
    before = data[data.rfind(b"\n", 0, at) + 1 : at]
    return None if before.strip() else before.decode()


def line_end(data: bytes) -> str:
    """Returns the line end of the first line."""
    return "\r\n" if data.partition(b"\n")[0].endswith(b"\r") else "\n"
