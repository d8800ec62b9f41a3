"""`Language`: all that Verdigris asks of a programming language. A new one is a folder with a subclass.

Every method has a default, which is what holds for a language that nothing here reads. A method loads what
it needs when it is called (`lazy_modules`), so that a command loads only the languages, and the parts of
them, that it meets.
"""

# A default has the arguments of what takes its place:
# ruff: noqa: ARG002

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import Detected
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from verdigris.core import test_ids
    from verdigris.core.languages import Facts
    from verdigris.core.report import Failure, TestResult
    from verdigris.core.reuse.facts import ModuleDelta, ModuleWords
    from verdigris.languages import assertions, conventions, findings, weakening
    from verdigris.languages.assertions import TestFile, TestReading
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import (
        Concern,
        IdMark,
        Importable,
        Imported,
        MeasuredFault,
        Mutated,
        Parcel,
        ReadMany,
        SourceChange,
        StubBody,
        StubFinding,
        TestComment,
        TestFacts,
        TestFault,
        TestRegions,
        TestText,
        Weakening,
        WrittenTest,
    )
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.literals import Chance, Replaced
    from verdigris.languages.probes import Probe
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Stub, WorktreeFiles
    from verdigris.languages.tracing import Tracing


class LazyModule:
    """A module that is loaded when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def lazy_modules(package: str, names: str) -> tuple[Any, ...]:
    """`names`: with blanks between them."""
    return tuple(LazyModule(f"{package}.{name}") for name in names.split())


if not TYPE_CHECKING:
    assertions, conventions, findings, weakening = lazy_modules(
        "verdigris.languages", "assertions conventions findings weakening"
    )
    (test_ids,) = lazy_modules("verdigris.core", "test_ids")


@value
class Examples:
    """What stands in comments of a new tdd.yaml, in the words of a language."""

    generated: tuple[str, ...] = ("**/generated/**",)
    suite: tuple[str, ...] = ("tests/unit",)
    test_command: tuple[str, ...] = ()
    check: str = "make lint"
    format: str = "make format"
    interpreter: str | None = None
    """Where an environment keeps it; None where no interpreter is configured."""
    selection: str = "ids or paths"
    """What may be named in `suite`."""


ROLE_WORDS = """\
LANGUAGE. Follow the ways of the project: its layout, its test library, its names. A test that does not \
load or compile is no red, so stub what it needs: a declaration marked STUB:TDD in a comment, whose body \
raises or returns a constant. Add no dependency."""


class Language:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @property
    def name(self) -> str:
        return self.facts.name

    # -- what it is ------------------------------------------------------------------------------------------

    traced_suffixes: tuple[str, ...] = ()
    """Endings of the files whose runs our reporter follows from inside the interpreter; see `tracing`."""
    tells_answer_tables: bool = False
    """Its concerns tell a table of the tests' answers from a constant, and from a word that chooses."""
    has_interpreter: bool = False
    """A stack may name the interpreter that runs it."""
    packages_folder: str = ""
    """Where a package manager installs inside the project, and tools keep caches."""
    tried_texts: tuple[int, int] = (3, 2)
    """Changed texts of a test that are tried at most, and at least; what is compiled takes longer."""
    examples: Examples = Examples()
    role_words: str = ROLE_WORDS
    """What a model is told about tests and stubs in this language."""

    @property
    def traces(self) -> bool:
        """Whether our reporter runs inside its interpreter."""
        return bool(self.traced_suffixes)

    def tracing(self) -> Tracing | None:
        """What reads the lines and assertions of traced files; None if there are none."""
        return None

    # -- the project -----------------------------------------------------------------------------------------

    def conventions(self, runner: str) -> Usual:
        """The usual places of a stack that this runner tests."""
        return conventions.places(self.name)

    def runner_keys(self, name: str, text: str) -> bytes:
        """Canonical bytes of what the runner reads in a manifest; ValueError where it cannot be parsed."""
        return conventions.runner_keys(name, text)

    def layout(self, home: Path) -> Detected:
        """Where a stack keeps its source and its tests, as far as names alone do not tell."""
        return Detected(flat=True)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks | None:
        """The stacks in these folders; `alone`: no other language was found."""
        return None

    def detect_bare(self, root: Path, known: Sequence[Folder]) -> FoundStacks | None:
        """What can be said where nobody found anything."""
        return None

    bare_runner: str | None = None
    """What tests it where nothing is there yet."""

    def starter(self) -> Starter | None:
        """What `tdd init` scaffolds, and what `tdd demo` plays."""
        return None

    # -- tests among the source ------------------------------------------------------------------------------

    def test_regions(self) -> TestRegions | None:
        """What tells tests from the source that they stand in; None where they have files of their own."""
        return None

    def holds_test(self, data: bytes) -> bool:
        """Whether a test that runs stands in a text."""
        return False

    def may_hold_tests(self, path: str) -> bool:
        """Whether a file of class `test` may hold some; one that only configures does not."""
        return True

    def without_tests(self, data: bytes) -> bytes:
        """Takes tests out; what is left stays in its own lines and columns."""
        return data

    def gave_up(self, failure: Failure) -> bool:
        """Whether a test ended because it could not go on with an answer that it got."""
        return False

    def defined_functions(self, sources: Mapping[str, bytes]) -> dict[str, str]:
        """Maps the name of each function to the file of source that defines it."""
        return {}

    def subject_of(
        self, failure: Failure, text: str, function: str, known: Mapping[str, str]
    ) -> tuple[str, int] | None:
        """The source whose answer it was, and the line of the test; `known`: as from `defined_functions`."""
        return None

    # -- ids of tests ----------------------------------------------------------------------------------------

    def marks(self, text: str) -> tuple[IdMark, ...]:
        """Comments that give tests their ids, in the order of the text."""
        return ()

    def test_comments(self, text: str) -> tuple[TestComment, ...]:
        """All lines of comments, in the order of the text."""
        return ()

    def test_facts(self, path: str, text: str, mark: IdMark) -> TestFacts | None:
        """The facts of the test below a comment; None where it is no test, or cannot be read."""
        return None

    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:
        """What an id has after its slug; None where the mark belongs to another test."""
        native = test_ids.split_id(result.native_id)
        return native.case if native.function == mark.test else None

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        """The id of a marked test, or its file where only a run can tell."""
        return f"{path}::{mark.test}{case}"

    def written_id(self, path: str, mark: IdMark) -> str | None:
        """Reads the id as the text alone tells it, of a table without cases; None where it is computed."""
        return self.native_id(path, mark, "")

    def makes(self, written: str, reported: str) -> bool:
        """Whether a test that is written so is reported so; names without their file."""
        return written == reported

    def encloses(self, written: str, reported: str) -> bool:
        """Whether the reported test holds the written one, and fails with it."""
        return False

    def name_parts(self, native: str) -> tuple[str, ...]:
        """The names of what is around a test, outermost first, and its own."""
        return tuple(native.partition("::")[2].split("::"))

    # -- stubs -----------------------------------------------------------------------------------------------

    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        """Where a change of source is more than stubs, and why."""
        if before is not None and self.same_tree(path, before, after):
            return None
        ending = path.rpartition(".")[2]
        return findings.StubFinding(1, f"no grammar reads {ending} files here, so it counts as an edit")

    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:
        """Whether comments and layout are all that differs; False where nobody can tell."""
        return False

    def stub_of_edit(self, before: bytes, after: bytes) -> str:
        """The stub that would have done instead of an edit; empty where none is known."""
        return ""

    def missing_stubs(self, path: str, files: WorktreeFiles) -> tuple[Stub, ...]:
        """What a test file needs to load, by its text alone; may raise SyntaxError or RecursionError."""
        return ()

    def declare_later(self, path: str, before: bytes, after: bytes, *, old_work: bool) -> bytes | None:
        """What a later version of a text declares, with stubs for what is new; None where this language
        cannot say. With `old_work` what was there does what it did, else whatever changed is a stub.
        """
        return None

    def imports(self, path: str, data: bytes) -> tuple[Imported, ...]:
        return ()

    def decorators(self, path: str, data: bytes) -> tuple[Imported, ...]:
        """The modules that decorators come from."""
        return ()

    def import_targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        """The files of the project that an import runs."""
        return iter(())

    def import_roots(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Folders in which names of modules are looked up, by the paths of all source."""
        return ()

    def is_declaration(self, path: str) -> bool:
        """Whether such a file only declares, and never runs."""
        return False

    def is_importable(self, path: str) -> bool:
        """Whether an import of this language may lead to such a file."""
        return True

    # -- reading of tests ------------------------------------------------------------------------------------

    def has_grammar(self, path: str) -> bool:
        """Whether a grammar reads the file: its tests become `Reading`s, and its texts can be changed."""
        return False

    def read_tests(self, files: Mapping[str, bytes]) -> dict[str, TestReading]:
        """Reads files that `has_grammar`; each may call the others' functions."""
        return {}

    def reads_source(self, path: str) -> bool:
        """Whether its concerns and mutants can be found."""
        return self.has_grammar(path)

    def reads_tests(self, path: str) -> bool:
        """Whether `read_test_file` can tell the assertions of the file."""
        return self.has_grammar(path)

    def read_test_file(self, path: str, text: str) -> TestFile:
        """Assertions, tests and skips; SyntaxError where it does not parse."""
        return assertions.TestFile()

    def stands(self, text: str, function: str) -> bool:
        """Whether a test of this qualified name is written there, where no grammar tells."""
        return False

    def without_test(self, text: str, function: str) -> str:
        """The text without a test, or without a class of tests, where that can be told."""
        return text

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:
        """The text in which one test is marked as skipped for this reason, and nothing else is changed.

        `name`: as a run reports it, without its file. As it is where it is marked already; None where this
        language, or this form of a test, cannot be marked.
        """
        return None

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:
        """`known`: names that runs reported; in a file that nothing here reads they are all there is."""
        end = len(text.splitlines()) or 1
        return (findings.WrittenTest(name, 1, end) for name in sorted(known))

    def parses(self, path: str, text: str) -> bool:
        """True where nobody can tell."""
        return True

    def new_words(self, text: str, lines: Collection[int]) -> list[str]:
        """What the given lines say, without comments and imports where those can be told."""
        found = text.splitlines()
        return [found[number - 1] for number in lines]

    # -- what a verdict asks ---------------------------------------------------------------------------------

    def weakenings(
        self, before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str]
    ) -> tuple[Weakening, ...]:
        """What the tests lost between two states of their files, by path; here each change is one of data.

        `revised`: test ids, slugs, paths and folders that were given up with a reason.
        """
        return weakening.data_weakenings(before, after, revised)

    def test_bases(self, texts: Mapping[str, str], files: Iterable[str]) -> list[str]:
        """Those of these files from which the texts may inherit tests."""
        return []

    def probes(
        self, texts: Mapping[str, bytes], names: Mapping[str, Sequence[str]], dice: Random, count: int
    ) -> tuple[Probe, ...]:
        """Assertions with ways to change them so that honest code fails; `names`: tests by their file."""
        return ()

    def run_target(self, path: str) -> str:
        """What the runner is asked for to run a test file as it is run with the suite."""
        return path

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        """Small changes of what a refactor changed."""
        return findings.Mutated()

    def other_inputs(
        self, path: str, data: bytes, lot: Chance, tried: Collection[int] = ()
    ) -> tuple[Replaced, ...]:
        """One literal that each test gives to the code, as another one.

        `tried`: offsets of literals that had their turn; another one is drawn where a test has one.
        """
        return ()

    def concerns(self, change: SourceChange) -> tuple[Concern, ...]:
        """What a change of source adds that honest code rarely, or never, has."""
        return ()

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        """Those of these test files that may reach what changed; `files`: all of the tree."""
        return frozenset(tests)

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        """The project's files that a text imports, in its order."""
        return iter(())

    # -- which results hold after a change -------------------------------------------------------------------

    def compare_modules(self, before: str, after: str) -> ModuleDelta | None:
        """How two texts of a module differ for those who use it; None where nobody can tell."""
        return None

    def module_words(self, text: str) -> ModuleWords | None:
        """Which words each function says; None where nobody can tell."""
        return None

    def name_lines(self, text: str, lines: Iterable[int]) -> dict[int, str] | None:
        """The function that each line belongs to, empty for none; None where nobody can tell."""
        return None

    # -- what a validator of tests asks ----------------------------------------------------------------------

    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        """What the test seems to assert and does not; None where it cannot be read."""
        return None

    def asserts(self, test: TestText) -> bool:
        """Whether anything can be told that it asserts; True where nobody can tell."""
        return True

    def assertion_lines(self, test: TestText) -> tuple[tuple[str, int], ...]:
        """Path and line of what its own function asserts, where runs can be traced."""
        return ()

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:
        """Where it replaces what it calls of the project; None where nobody can tell."""
        return None

    def measured_faults(self, path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
        """What a change of measured code adds that could give the number itself."""
        return ()

    def expected_literals(self, test: TestText) -> tuple[str, ...]:
        """What its assertions compare answers with, as the language writes it."""
        return ()

    def stub_bodies(
        self, path: str, before: bytes | None, after: bytes, literals: Sequence[str], dice: Random
    ) -> tuple[StubBody, ...] | None:
        """New stubs of a file, with constants to return instead; None where it cannot be read.

        `literals`: what tests expect.
        """
        return None

    # -- held-out tests --------------------------------------------------------------------------------------

    def parcels(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:
        """Which held-out files are laid into the tree together; `data`: those that are no code of it."""
        return [findings.Parcel(tuple(held), tuple(held))]

    def dress(self, texts: Mapping[str, bytes], *, loads_modules: bool) -> dict[str, bytes]:
        """Held-out texts as they are laid into the tree, with what they need to empty themselves.

        `loads_modules`: the runner may load an ES module, whatever the form of a test.
        """
        return dict(texts)
