"""Python, tested by pytest or unittest; our reporter runs inside the interpreter."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.languages.protocol import (
    Language,
    SourceReader,
    Stubs,
    TestReader,
    WithheldCode,
    lazy_modules,
    lazy_part,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from verdigris.languages.assertions import TestFile
    from verdigris.languages.findings import (
        Concern,
        IdMark,
        MeasuredFault,
        Mutant,
        Mutated,
        Removals,
        SourceChange,
        StubFinding,
        TestComment,
        TestFacts,
        Weakening,
        WrittenTest,
    )
    from verdigris.languages.grammar import bindings, mutation, removals
    from verdigris.languages.literals import RenamedWords
    from verdigris.languages.python import (
        concerns,
        layout,
        mutants,
        project,
        same_code,
        stubs,
        syntax,
        test_places,
        tests,
        weakening,
    )
    from verdigris.languages.python import tracing as traced
    from verdigris.languages.python.stubs import declarations, places
    from verdigris.languages.python.weakening import suite
    from verdigris.languages.stubs import Stub, WorktreeFiles
    from verdigris.languages.tracing import Tracing

_MODULES = (".py", ".pyi")


if not TYPE_CHECKING:
    concerns, mutants, project = lazy_modules(__name__, "concerns mutants project")
    bindings, mutation, removals = lazy_modules("verdigris.languages.grammar", "bindings mutation removals")
    stubs, syntax, test_places, tests, weakening = lazy_modules(
        __name__, "stubs syntax test_places tests weakening"
    )
    layout, same_code, traced = lazy_modules(__name__, "layout same_code tracing")
    (suite,) = lazy_modules(f"{__name__}.weakening", "suite")
    declarations, places = lazy_modules(f"{__name__}.stubs", "declarations places")


class PythonTestReader(TestReader):
    def holds_test(self, data: bytes) -> bool:
        return project.HOLDS_TESTS.search(data) is not None

    def may_hold_tests(self, path: str) -> bool:
        return path.rpartition("/")[2] not in {"conftest.py", "__init__.py", "manage.py"}

    def test_comments(self, path: str, text: str) -> tuple[TestComment, ...]:  # noqa: ARG002 - read alike by any name
        return tests.read_test_comments(text)

    def test_facts(self, path: str, text: str, mark: IdMark) -> TestFacts | None:
        return test_places.read_test_facts(path, text, str(mark.test))

    def reads(self, path: str) -> bool:
        return path.endswith(".py")

    def read_test_file(self, path: str, text: str) -> TestFile:  # noqa: ARG002 - read alike by any name
        return tests.read(text)

    def stands(self, text: str, function: str) -> bool:
        return test_places.stands(text, function)

    def without_test(self, text: str, function: str) -> str:
        return test_places.cut_test(text, function)

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:  # noqa: ARG002 - read alike by any name
        done = test_places.mark_skipped(_text(data), name, why)
        return None if done is None else done.encode("utf-8", "surrogateescape")

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:  # noqa: ARG002
        return test_places.written_tests(text, known)

    def parses(self, path: str, text: str) -> bool:  # noqa: ARG002 - read alike by any name
        try:
            syntax.parse(text)
        except SyntaxError:
            return False
        return True

    def new_words(self, text: str, lines: Collection[int]) -> list[str]:
        """The expressions on these lines; comments and imports do not count."""
        return test_places.expressions(text, lines)

    def weakenings(
        self, before: Mapping[str, str], after: Mapping[str, str], revised: Collection[str]
    ) -> tuple[Weakening, ...]:
        return weakening.weakenings(before, after, revised)

    def test_bases(self, texts: Mapping[str, str], files: Iterable[str]) -> list[str]:
        return suite.files_of_bases(texts, files)


class PythonStubs(Stubs):
    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        if before is not None and self.language.source.same_tree(path, before, after):
            return None
        return stubs.only_stubs(None if before is None else _text(before), _text(after))

    def stub_of_edit(self, before: bytes, after: bytes) -> str:
        return declarations.stub_of_edit(before, after)

    def missing_stubs(self, path: str, files: WorktreeFiles, said: Sequence[str]) -> tuple[Stub, ...]:  # noqa: ARG002 - the text shows enough
        return places.stubs_of(path, files)

    def path_files(self, path: str, stubs: Sequence[Stub], files: WorktreeFiles) -> tuple[Stub, ...]:
        return places.path_files(path, stubs, files)

    def declare(self, path: str, before: bytes, after: bytes, *, old_work: bool) -> bytes | None:  # noqa: ARG002 - every ending is read alike
        if not old_work:
            return None  # Python compiles nothing, so old code never conflicts with new declarations
        try:
            return declarations.declare_missing(_text(before), _text(after)).encode(
                "utf-8", "surrogateescape"
            )
        except (SyntaxError, ValueError, RecursionError):
            return None


class PythonSourceReader(SourceReader):
    tells_answer_tables = True

    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:  # noqa: ARG002 - read alike by any name
        return same_code.same_python_tree(_text(before), _text(after))

    def reads(self, path: str) -> bool:  # noqa: ARG002 - read alike by any name
        return True

    def lay_out_anew(self, data: bytes) -> bytes | None:
        return layout.lay_out_anew(data)

    def without_asserts(self, data: bytes) -> bytes | None:
        return layout.without_asserts(data)

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        return mutation.mutate_by_grammar(mutants.FORMS, bytes, before, after)

    def removals(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        elsewhere: Mapping[str, bytes | None],
    ) -> Removals:
        return removals.find_removals(mutants.FORMS, bytes, before, after, elsewhere)

    def empty_bodies(
        self,
        before: Mapping[str, bytes | None],
        after: Mapping[str, bytes | None],
        named: Collection[str] | None = None,
        lengths: Collection[int] = (),
    ) -> Iterator[Mutant]:
        return mutation.empty_bodies(mutants.FORMS, before, after, named, lengths)

    def renamed_words(
        self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
    ) -> RenamedWords:
        return bindings.read_renaming(*(mutation.read_roots(bytes, side) for side in (before, after)))

    def concerns(self, change: SourceChange) -> tuple[Concern, ...]:
        paths = [path for path in change.after if path.endswith(_MODULES)]
        before, after = _texts(change.before), _texts(change.after)
        return concerns.concerns(
            {path: before.get(path) for path in paths},
            {path: after.get(path) for path in paths},
            _texts({path: data for path, data in change.tests.items() if self.language.tests.reads(path)}),
        )

    def measured_faults(self, path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
        return concerns.find_measured_faults(path, before, after)


class PythonLanguage(Language):
    traced_suffixes = (".py",)
    role_words = """\
PYTHON. Tests are functions `test_…` in files `test_….py`, with plain `assert`, unless the project does it \
otherwise. Importing a name that does not exist is an error and no red, so stub it in the module where it \
shall live:
def add(numbers: str) -> int:  # STUB:TDD
    return -1
Use type annotations where the project does. The standard library and what is installed already are all \
there is."""

    def tracing(self) -> Tracing:
        return traced.PythonTracing()

    project = lazy_part(f"{__name__}.project.PythonProject")
    tests = cached_property(PythonTestReader)
    stubs = cached_property(PythonStubs)
    imports = lazy_part(f"{__name__}.imports.PythonImports")
    source = cached_property(PythonSourceReader)
    liveness = lazy_part(f"{__name__}.liveness.PythonLiveness")
    validation = lazy_part(f"{__name__}.validation.vacuity.PythonValidation")
    held_out = cached_property(WithheldCode)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _texts(files: Mapping[str, bytes] | Mapping[str, bytes | None]) -> dict[str, str]:
    return {path: _text(data) for path, data in files.items() if data is not None}


LANGUAGE = PythonLanguage(FACTS["python"])
