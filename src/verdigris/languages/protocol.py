"""`Language`: all that Verdigris asks of a programming language. A new one is a folder with a subclass.

Every method has a default, which holds for a language that nothing here reads. A method loads its modules
when it is called (`lazy_modules`), so that a command loads only the languages and the parts that it needs.
"""

# A default takes the arguments of the methods that override it:
# ruff: noqa: ARG002

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from verdigris.core.paths import Detected

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from verdigris.core import test_ids
    from verdigris.core.languages import Facts
    from verdigris.core.report import Failure, TestResult
    from verdigris.core.suite_health import Hindrance
    from verdigris.languages import assertions, conventions, findings, weakening
    from verdigris.languages.assertions import TestFile, TestReading
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import (
        Concern,
        HeldGroup,
        IdMark,
        Importable,
        Imported,
        MeasuredFault,
        Mutant,
        Mutated,
        ReadMany,
        Removals,
        SourceChange,
        StackFacts,
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
    from verdigris.languages.literals import Chance, RenamedWords, Replaced
    from verdigris.languages.probes import Probe
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Stub, WorktreeFiles
    from verdigris.languages.tracing import Tracing


class LazyModule:
    """A module that is loaded when one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def lazy_modules(package: str, names: str) -> tuple[Any, ...]:
    """Makes a lazy module for each of the `names`, which are separated by blanks."""
    return tuple(LazyModule(f"{package}.{name}") for name in names.split())


if not TYPE_CHECKING:
    assertions, conventions, findings, weakening = lazy_modules(
        "verdigris.languages", "assertions conventions findings weakening"
    )
    (test_ids,) = lazy_modules("verdigris.core", "test_ids")


ROLE_WORDS = """\
LANGUAGE. Follow the ways of the project: its layout, its test library, its names. A test that does not \
load or compile is no red, so stub what it needs: a declaration marked STUB:TDD in a comment, whose body \
raises or returns a constant. Add no dependency."""


class Part:
    """One group of the questions about a language. It may ask the other parts of its language."""

    def __init__(self, language: Language) -> None:
        self.language = language


class Project(Part):
    """How a project of the language is laid out, found and started."""

    bare_runner: str | None = None
    """The runner of a new project."""
    has_interpreter: bool = False
    """A stack may name the interpreter that runs it."""
    packages_folder: str = ""
    """The folder of the project into which a package manager installs, and in which tools keep caches."""

    def conventions(self, runner: str) -> Usual:
        """The usual places of a stack that this runner tests."""
        return conventions.places(self.language.name)

    def runner_keys(self, name: str, text: str) -> bytes:
        """Canonical bytes of what the runner reads in a manifest; ValueError where it cannot be parsed."""
        return conventions.runner_keys(name, text)

    def configuration(self) -> tuple[str, ...]:
        """Files at a stack's root from which `layout` reads, also those that may come."""
        return ()

    def layout(self, home: Path) -> Detected:
        """Where a stack keeps its source and its tests, if the names of its files do not show it."""
        return Detected(flat=True)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks | None:
        """Finds the stacks in these folders; `alone`: no other language was found."""
        return None

    def detect_bare(self, root: Path, known: Sequence[Folder]) -> FoundStacks | None:
        """The stacks to propose when no language detected any."""
        return None

    def find_cause(self, runner: str, kind: str, text: str, facts: StackFacts) -> Hindrance | None:
        """Reads from an error what is not installed or cannot be imported, and names the cure."""
        return None

    def starter(self) -> Starter | None:
        """What `tdd init` scaffolds, and what `tdd demo` plays."""
        return None


class TestIds(Part):
    """How the names of tests in a text belong to the names that a run reports."""

    def case_of(self, mark: IdMark, path: str, result: TestResult) -> str | None:
        """The part of an id after its slug; None if the mark belongs to another test."""
        native = test_ids.split_id(result.native_id)
        return native.case if native.function == mark.test else None

    def native_id(self, path: str, mark: IdMark, case: str) -> str:
        """The id of a marked test; its file, if only a run shows the id."""
        return f"{path}::{mark.test}{case}"

    def written_id(self, path: str, mark: IdMark) -> str | None:
        """The id in the text, of a table without its cases; None if the id is computed at run time."""
        return self.native_id(path, mark, "")

    def makes(self, written: str, reported: str) -> bool:
        """Whether a run calls the test `written` by the name `reported`; neither name has the file in it."""
        return written == reported

    def encloses(self, written: str, reported: str) -> bool:
        """Whether the reported test contains the written one, and so fails with it."""
        return False

    def name_parts(self, native: str) -> tuple[str, ...]:
        """The names of the groups around a test, outermost first, and its own name last."""
        return tuple(native.partition("::")[2].split("::"))


class TestReader(Part):
    """Reads the tests of a file, and what they lost."""

    def holds_test(self, data: bytes) -> bool:
        """Whether a text contains a test that runs."""
        return False

    def may_hold_tests(self, path: str) -> bool:
        """Whether a file of class `test` may contain tests; a configuration file does not."""
        return True

    def test_comments(self, path: str, text: str) -> tuple[TestComment, ...]:
        """All lines of comments, in the order of the text; some give tests their ids, or name scenarios."""
        return ()

    def test_facts(self, path: str, text: str, mark: IdMark) -> TestFacts | None:
        """The facts of the test below a comment; None if it is no test, or cannot be read."""
        return None

    def has_grammar(self, path: str) -> bool:
        """Whether a grammar reads the file: its tests become `TestReading`s, and its text can be changed."""
        return False

    def read_tests(self, files: Mapping[str, bytes]) -> dict[str, TestReading]:
        """Reads files for which `has_grammar` is true; a test may call functions of the other files."""
        return {}

    def reads(self, path: str) -> bool:
        """Whether `read_test_file` can read the assertions of the file."""
        return self.has_grammar(path)

    def read_test_file(self, path: str, text: str) -> TestFile:
        """Assertions, tests and skips; SyntaxError if the text does not parse."""
        return assertions.TestFile()

    def stands(self, text: str, function: str) -> bool:
        """Whether the text defines a test of this qualified name; asked only if no grammar reads the file."""
        return False

    def without_test(self, text: str, function: str) -> str:
        """Returns the text without a test or a class of tests; unchanged if it cannot be found."""
        return text

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:
        """Returns the text with one test marked as skipped for this reason, and nothing else changed.

        `name`: as a run reports it, without its file. Returns the text unchanged if the test is marked
        already, and None if this language, or this form of a test, cannot be marked.
        """
        return None

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:
        """`known`: names that runs reported. In a file that no reader reads they are the only source."""
        end = len(text.splitlines()) or 1
        return (findings.WrittenTest(name, 1, end) for name in sorted(known))

    def parses(self, path: str, text: str) -> bool:
        """Whether the text parses; True if nothing here reads it."""
        return True

    def new_words(self, text: str, lines: Collection[int]) -> list[str]:
        """The code of the given lines, without comments and imports if those can be recognised."""
        all_lines = text.splitlines()
        return [all_lines[number - 1] for number in lines]

    def weakenings(
        self, before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str]
    ) -> tuple[Weakening, ...]:
        """Lists what the tests lost between two states of their files; here a changed file is changed data.

        `revised`: test ids, slugs, paths and folders that were given up with a reason.
        """
        return weakening.data_weakenings(before, after, revised)

    def test_bases(self, texts: Mapping[str, str], files: Iterable[str]) -> list[str]:
        """The files from which the texts may inherit tests."""
        return []


class Stubs(Part):
    """Tells stubs from code, and writes them."""

    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        """Where a change of source adds more than stubs, and why; None if it does not."""
        if before is not None and self.language.source.same_tree(path, before, after):
            return None
        ending = path.rpartition(".")[2]
        return findings.StubFinding(1, f"no grammar reads {ending} files here, so it counts as an edit")

    def stub_of_edit(self, before: bytes, after: bytes) -> str:
        """A stub that would have been enough instead of an edit; empty if none is known."""
        return ""

    def missing_stubs(self, path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:
        """The declarations that a test file needs to load; may raise SyntaxError or RecursionError.

        `said`: what a run or a compiler said about the file; empty if it was not run.
        """
        return ()

    def path_files(self, path: str, stubs: Sequence[Stub], files: WorktreeFiles) -> tuple[Stub, ...]:
        """Files without which the test tool, called plainly, would not find the stubs of a test file."""
        return ()

    def declare(self, path: str, before: bytes, after: bytes, *, old_work: bool) -> bytes | None:
        """Returns the text with the declarations of a later version, new ones as stubs; None if not possible.

        With `old_work`, functions that existed keep their bodies; otherwise each changed one is a stub.
        """
        return None


class Imports(Part):
    """Follows the imports of files."""

    def read(self, path: str, data: bytes) -> tuple[Imported, ...]:
        return ()

    def decorators(self, path: str, data: bytes) -> tuple[Imported, ...]:
        """The modules that decorators come from."""
        return ()

    def targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        """The files of the project that an import runs."""
        return iter(())

    def roots(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Folders in which names of modules are looked up, by the paths of all source."""
        return ()

    def is_declaration(self, path: str) -> bool:
        """Whether such a file only declares, and never runs."""
        return False

    def is_importable(self, path: str) -> bool:
        """Whether an import of this language may lead to such a file."""
        return True

    def reaching(
        self, tests: Iterable[str], changed: Iterable[str], files: Iterable[str], read: ReadMany
    ) -> frozenset[str]:
        """The test files that may import a changed file, directly or not; `files`: all files of the tree."""
        return frozenset(tests)

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        """The files of the project that a text imports, in the order of the text."""
        return iter(())


class SourceReader(Part):
    """Reads a change of source: what is suspicious in it, and what its tests should notice."""

    tells_answer_tables: bool = False
    """Its concerns can distinguish a table of the tests' answers from a constant and from an option."""

    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:
        """Whether only comments and layout differ; False if that cannot be determined."""
        return False

    def reads(self, path: str) -> bool:
        """Whether `concerns` and `mutants` can read the file."""
        return self.language.tests.has_grammar(path)

    def lay_out_anew(self, data: bytes) -> bytes | None:
        """The same code with other lines and without comments; None if that cannot be written."""
        return None

    def without_asserts(self, data: bytes) -> bytes | None:
        """The code as an optimising interpreter runs it; None where there is no such thing."""
        return None

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        """Makes small changes in the lines that a refactor changed."""
        return findings.Mutated()

    def removals(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        elsewhere: Mapping[str, bytes | None],
    ) -> Removals:
        """What a change took out of functions and classes that stay, as mutants of the old files.

        `elsewhere`: source that did not change and that the new files may call.
        """
        return findings.Removals()

    def empty_bodies(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        named: Collection[str] | None = None,
        lengths: Collection[int] = (),
    ) -> Iterator[Mutant]:
        """Mutants in which a new or changed function returns an answer that knows nothing.

        `named`: instead, the functions with these names, stubs too. `lengths`: of lists that hold nothing.
        """
        return iter(())

    def renamed_words(
        self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
    ) -> RenamedWords | None:
        """Which names a change of these files renamed in some of its places; None if that is not known."""
        return None

    def concerns(self, change: SourceChange) -> tuple[Concern, ...]:
        """Finds code in a change that honest source rarely or never has."""
        return ()

    def measured_faults(self, path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
        """Finds added code that could print or set the measured number itself."""
        return ()


class Liveness(Part):
    """Changes assertions and inputs of tests, so that honest code fails."""

    tried_texts: tuple[int, int] = (3, 2)
    """The most and the fewest changed texts of a test that are tried; compiled languages try fewer."""

    def probes(
        self, texts: Mapping[str, bytes], asked: Iterable[str], dice: Random, count: int
    ) -> tuple[Probe, ...]:
        """Finds assertions, each with up to `count` changes that honest code fails.

        `texts`: every test file that a run loads. `asked`: native ids.
        """
        return ()

    def failures_after(
        self, texts: Mapping[str, bytes], asked: Iterable[str], places: Collection[tuple[str, int]]
    ) -> tuple[Probe, ...]:
        """Adds a failure after the assertions at these places (path and line), to see which are reached."""
        return ()

    def contents(
        self, texts: Mapping[str, bytes], asked: Iterable[str], *, strict: bool = False
    ) -> tuple[Probe, ...]:
        """Equalities that compare plain data by content; honest code passes all of them at once.

        `strict`: no class of the project is trusted, also none that the test names.
        """
        return ()

    def arrangements(self, texts: Mapping[str, bytes], native: str, lot: Chance) -> Iterator[Mutant]:
        """Changes what a test sets up: a literal that it passes to the code, or a step that is left out.

        Nothing for a test that expects no value of its own, such as one that an error is raised.
        """
        return iter(())

    def why_unread(self, texts: Mapping[str, bytes], native: str) -> str:
        """Why a test has no probe."""
        return "no assertion that can be changed was found in it"

    def run_target(self, path: str) -> str:
        """The argument that makes the runner run a test file as it runs it in the suite."""
        return path

    def other_inputs(
        self, path: str, data: bytes, lot: Chance, tried: Collection[int] = ()
    ) -> tuple[Replaced, ...]:
        """Replaces, in each test, one literal that it passes to the code.

        `tried`: offsets of literals that were replaced before; another one is drawn if the test has one.
        """
        return ()


class Validation(Part):
    """What a validator of tests asks."""

    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        """Finds assertions that cannot fail; None if the test cannot be read."""
        return None

    def asserts(self, test: TestText) -> bool:
        """Whether the test asserts something; True if that cannot be determined."""
        return True

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:
        """Where the test replaces project code that it calls; None if that cannot be determined."""
        return None

    def expected_literals(self, test: TestText) -> tuple[str, ...]:
        """The literals that the assertions of a test compare with, as they are written."""
        return ()

    def stub_bodies(
        self, path: str, before: bytes | None, after: bytes, literals: Sequence[str], dice: Random
    ) -> tuple[StubBody, ...] | None:
        """New stubs of a file, each with constants that it could return instead; None if it cannot be read.

        `literals`: the values that tests expect.
        """
        return None


class HeldOut(Part):
    """Puts held-out tests into a tree."""

    def groups(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[HeldGroup]:
        """Groups the held-out files that are put into the tree together; `data`: those that are no code."""
        return [findings.HeldGroup(tuple(held), tuple(held))]

    def empty_on_load(self, texts: Mapping[str, bytes], *, loads_modules: bool) -> dict[str, bytes]:
        """Adds code to each held-out text that empties its file when it is loaded, so source cannot read it.

        `loads_modules`: the runner may load an ES module, whatever the form of a test.
        """
        return dict(texts)


class WithheldCode(HeldOut):
    """Withholds all code once it is loaded: the runner takes several files at once."""

    def asked(self, code: Sequence[str]) -> list[tuple[str, ...]]:
        """The files of each run."""
        return [tuple(code)] if code else []

    def groups(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[HeldGroup]:
        return [findings.HeldGroup(paths, (*code, *data), tuple(code)) for paths in self.asked(code)]


class Unwraps(Part):
    """Finds the code whose unusable value made a test give up, e.g. by `unwrap`."""

    def gave_up(self, failure: Failure) -> bool:
        """Whether a test stopped because it could not use a value that it got, e.g. by `unwrap`."""
        return False

    def functions(self, sources: Mapping[str, bytes]) -> dict[str, str]:
        """Maps the name of each function to the file of source that defines it."""
        return {}

    def subject_of(
        self, failure: Failure, text: str, function: str, known: Mapping[str, str]
    ) -> tuple[str, int] | None:
        """The source file that returned the unusable value, and the line where the test gave up.

        `known`: the result of `functions`.
        """
        return None


def lazy_part(place: str) -> cached_property[Any]:
    """The part of a language that this class makes, whose module is loaded when it is first asked for."""
    module, _, name = place.rpartition(".")

    def make(language: Language) -> Any:
        return getattr(import_module(module), name)(language)

    return cached_property(make)


class Language:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @property
    def name(self) -> str:
        return self.facts.name

    traced_suffixes: tuple[str, ...] = ()
    """Endings of the files whose runs our reporter follows from inside the interpreter; see `tracing`."""
    role_words: str = ROLE_WORDS
    """What a model is told about tests and stubs in this language."""

    @property
    def traces(self) -> bool:
        """Whether our reporter runs inside its interpreter."""
        return bool(self.traced_suffixes)

    def tracing(self) -> Tracing | None:
        """What reads the lines and assertions of traced files; None if there are none."""
        return None

    def test_regions(self) -> TestRegions | None:
        """Separates tests from the source around them; None if tests have files of their own."""
        return None

    def without_tests(self, data: bytes) -> bytes:
        """Blanks out the tests; the rest keeps its lines and columns."""
        regions = self.test_regions()
        return data if regions is None else regions.without_tests(data)

    project = cached_property(Project)
    ids = cached_property(TestIds)
    tests = cached_property(TestReader)
    stubs = cached_property(Stubs)
    imports = cached_property(Imports)
    source = cached_property(SourceReader)
    liveness = cached_property(Liveness)
    validation = cached_property(Validation)
    held_out = cached_property(HeldOut)
    unwraps = cached_property(Unwraps)
