"""Python, as pytest and unittest test it: our reporter runs inside its interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.languages import FACTS
from verdigris.core.value import replace
from verdigris.languages.protocol import Examples, Language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path
    from random import Random

    from verdigris.core.paths import Detected
    from verdigris.languages.assertions import TestFile
    from verdigris.languages.conventions import Usual
    from verdigris.languages.findings import (
        Concern,
        IdMark,
        Importable,
        Imported,
        MeasuredFault,
        Mutated,
        Parcel,
        SourceChange,
        StubBody,
        StubFinding,
        TestComment,
        TestFacts,
        TestFault,
        TestText,
        WrittenTest,
    )
    from verdigris.languages.folders import Folder, FoundStacks
    from verdigris.languages.literals import Lot, Replaced
    from verdigris.languages.starter import Starter
    from verdigris.languages.stubs import Files, Stub

_MODULES = (".py", ".pyi")


class PythonLanguage(Language):
    traces = True
    has_interpreter = True
    bare_runner = "pytest"
    examples = Examples(
        ("**/*_pb2.py",),
        ("tests/unit",),
        ("-p", "no:randomly"),
        "ruff check .",
        "ruff format",
        interpreter=".venv/bin/python",
        selection="ids, paths or -m MARK",
    )
    role_words = """\
PYTHON. Tests are functions `test_…` in files `test_….py`, with plain `assert`, unless the project does it \
otherwise. Importing a name that does not exist is an error and no red, so stub it in the module where it \
shall live:
def add(numbers: str) -> int:  # STUB:TDD
    return -1
Use type annotations where the project does. The standard library and what is installed already are all \
there is."""

    def conventions(self, runner: str) -> Usual:  # noqa: ARG002 - pytest collects unittest's cases too
        from verdigris.languages.python.project import PLACES

        return PLACES

    def runner_keys(self, name: str, text: str) -> bytes:
        from verdigris.languages.python.project import pyproject, sections

        return pyproject(text) if name == "pyproject.toml" else sections(text)

    def layout(self, home: Path) -> Detected:
        from verdigris.languages.python.project import layout

        return layout(home)

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:
        from verdigris.languages.python.project import find_stacks

        return find_stacks(root, known, alone=alone)

    def starter(self) -> Starter:
        from verdigris.languages.python import starter
        from verdigris.languages.starter import Starter

        return Starter(starter.script, starter)

    def marks(self, text: str) -> tuple[IdMark, ...]:
        from verdigris.languages.findings import IdMark
        from verdigris.languages.python.tests.comments import read_annotations

        return tuple(IdMark(each.slug, each.line, name) for name, each in read_annotations(text).items())

    def test_comments(self, text: str) -> tuple[TestComment, ...]:
        from verdigris.languages.findings import TestComment
        from verdigris.languages.python.tests.comments import read_comments

        return tuple(TestComment(one.line, one.text, one.function or None) for one in read_comments(text))

    def test_facts(self, path: str, text: str, mark: IdMark) -> TestFacts | None:
        from verdigris.languages.python.test_places import read_test_facts

        return read_test_facts(path, text, str(mark.test))

    # -- stubs -----------------------------------------------------------------------------------------------

    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        from verdigris.languages.python.stubs import only_stubs

        if before is not None and self.same_tree(path, before, after):
            return None
        return only_stubs(None if before is None else _text(before), _text(after))

    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.syntax import same_python_tree

        return same_python_tree(_text(before), _text(after))

    def stub_of_edit(self, before: bytes, after: bytes) -> str:
        from verdigris.languages.python.stubs.missing_names import stub_of_edit

        return stub_of_edit(before, after)

    def missing_stubs(self, path: str, files: Files) -> tuple[Stub, ...]:
        from verdigris.languages.python.stubs.places import stubs_of

        return stubs_of(path, files)

    def imports(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.imports import read_imports

        return read_imports(_text(data))

    def decorators(self, path: str, data: bytes) -> tuple[Imported, ...]:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.imports import decorators

        return decorators(_text(data))

    def import_targets(self, path: str, one: Imported, files: Importable) -> Iterator[str]:
        from verdigris.languages.python.imports import import_targets

        return import_targets(path, one, files)

    def is_importable(self, path: str) -> bool:
        from verdigris.languages.python.imports import MODULES

        return path.endswith(MODULES)

    def imported_files(self, path: str, text: str, files: frozenset[str]) -> Iterator[str]:
        from verdigris.languages.python.imports import imported_files

        return imported_files(path, text, files)

    # -- reading of tests ------------------------------------------------------------------------------------

    def reads_tests(self, path: str) -> bool:
        return path.endswith(".py")

    def read_test_file(self, path: str, text: str) -> TestFile:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.tests import read

        return read(text)

    def stands(self, text: str, function: str) -> bool:
        from verdigris.languages.python.test_places import stands

        return stands(text, function)

    def without_test(self, text: str, function: str) -> str:
        from verdigris.languages.python.test_places import cut_test

        return cut_test(text, function)

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.test_places import mark_skipped

        done = mark_skipped(_text(data), name, why)
        return None if done is None else done.encode("utf-8", "surrogateescape")

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:  # noqa: ARG002
        from verdigris.languages.python.test_places import written_tests

        return written_tests(text, known)

    def parses(self, path: str, text: str) -> bool:  # noqa: ARG002 - whatever its name is
        from verdigris.languages.python.syntax import parse

        try:
            parse(text)
        except SyntaxError:
            return False
        return True

    def new_words(self, text: str, lines: Collection[int]) -> list[str]:
        """Expressions alone, so that neither comments nor imports count."""
        from verdigris.languages.python.test_places import expressions

        return expressions(text, lines)

    # -- what a verdict asks ---------------------------------------------------------------------------------

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        from verdigris.languages.python.mutation import mutate

        return mutate(_texts(before), _texts(after))

    def other_inputs(
        self,
        path: str,  # noqa: ARG002
        data: bytes,
        lot: Lot,
        tried: Collection[int] = (),
    ) -> tuple[Replaced, ...]:
        from verdigris.languages.python.mutation import replace_inputs

        return replace_inputs(_text(data), lot, tried)

    def concerns(self, change: SourceChange) -> tuple[Concern, ...]:
        from verdigris.languages.python.concerns import concerns

        paths = [path for path in change.after if path.endswith(_MODULES)]
        before, after = _texts(change.before), _texts(change.after)
        return concerns(
            {path: before.get(path) for path in paths},
            {path: after.get(path) for path in paths},
            _texts(change.tests),
            pyproject=change.manifests.get("pyproject.toml", ""),
            data=change.data,
        )

    # -- what a validator of tests asks ----------------------------------------------------------------------

    def empty_assertions(self, test: TestText) -> tuple[TestFault, ...] | None:
        from verdigris.languages.python.validation.vacuity import find_empty_assertions

        return find_empty_assertions(test)

    def declare_missing(self, before: bytes, other: bytes) -> bytes | None:
        from verdigris.languages.python.stubs.other_side import declare_missing

        try:
            return declare_missing(_text(before), _text(other)).encode("utf-8", "surrogateescape")
        except (SyntaxError, ValueError, RecursionError):
            return None

    def asserts(self, test: TestText) -> bool:
        from verdigris.languages.python.validation.vacuity import asserts_something

        return asserts_something(test)

    def assertion_lines(self, test: TestText) -> tuple[tuple[str, int], ...]:
        from verdigris.languages.python.validation.vacuity import assertion_lines

        return assertion_lines(test)

    def mocked_subjects(self, test: TestText, sources: Collection[str]) -> tuple[TestFault, ...] | None:
        from verdigris.languages.python.validation.mocks import find_mocked_subjects

        return find_mocked_subjects(test, sources)

    def measured_faults(self, path: str, before: str | None, after: str) -> tuple[MeasuredFault, ...]:
        from verdigris.languages.python.concerns.metric_faults import find_measured_faults

        return find_measured_faults(path, before, after)

    def expected_literals(self, test: TestText) -> tuple[str, ...]:
        from verdigris.languages.python.validation.vacuity import expected_literals

        return expected_literals(test)

    def stub_bodies(
        self, path: str, before: bytes | None, after: bytes, literals: Sequence[str], dice: Random
    ) -> tuple[StubBody, ...]:
        from verdigris.languages.python.validation.stub_answers import stub_bodies

        found = stub_bodies(None if before is None else _text(before), _text(after), literals, dice)
        return tuple(replace(one, path=path) for one in found)

    def parcels(self, code: Sequence[str], data: Sequence[str], held: Mapping[str, bytes]) -> list[Parcel]:  # noqa: ARG002
        from verdigris.languages.findings import Parcel

        return [Parcel(tuple(code), (*code, *data), tuple(code))] if code else []


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _texts(files: Mapping[str, bytes] | Mapping[str, bytes | None]) -> dict[str, str]:
    return {path: _text(data) for path, data in files.items() if data is not None}


LANGUAGE = PythonLanguage(FACTS["python"])
