"""Calm, a language that does not exist: lines `let name = value`, and tests `check name = value`.

All that Verdigris has to know of it stands in this folder; an entry point leads to `LANGUAGE`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from verdigris.core.languages import STUB_MARK, Facts
from verdigris.core.settings import Stack
from verdigris.languages.assertions import Assertion, TestFile
from verdigris.languages.conventions import Usual, any_of, anywhere
from verdigris.languages.findings import StubFinding, TestComment, WrittenTest
from verdigris.languages.folders import Folder, FoundStacks, folders_with
from verdigris.languages.protocol import Language, Project, SourceReader, Stubs, TestReader
from verdigris.languages.test_comments import Comment, Declared, assign_comments

_CHECK = re.compile(r"check (\w+) = (.+)")


class CalmProject(Project):
    def conventions(self, runner: str) -> Usual:
        tests = anywhere("checks")
        return Usual(tests, anywhere(rf"{runner}\.toml"), anywhere(r"\.calm"), any_of(r"\.", "docs/"))

    def runner_keys(self, name: str, text: str) -> bytes:
        return "\n".join(line for line in text.splitlines() if line.startswith("checks")).encode()

    def detect(self, root: Path, known: Sequence[Folder], *, alone: bool) -> FoundStacks:
        places = folders_with(known, ["calm.toml"])
        return FoundStacks(
            tuple(Stack(root=place, language=self.language.name, runner="junit") for place in places)
        )


class CalmTestReader(TestReader):
    def test_comments(self, path: str, text: str) -> tuple[TestComment, ...]:
        lines = [*enumerate(text.splitlines(), 1)]
        declared = [Declared(at, at, test[1]) for at, line in lines if (test := _CHECK.match(line))]
        comments = (Comment(at, line, is_alone=True) for at, line in lines if line.startswith("?"))
        return assign_comments(comments, declared)

    def reads(self, path: str) -> bool:
        return path.endswith(".calm")

    def read_test_file(self, path: str, text: str) -> TestFile:
        found = [(at, one) for at, line in enumerate(text.splitlines(), 1) if (one := _CHECK.match(line))]
        return TestFile(
            tuple(Assertion(at, one[0], one[1], f"check {one[2]}", ()) for at, one in found),
            tuple((one[1], at) for at, one in found),
        )

    def written_tests(self, path: str, text: str, known: Collection[str]) -> Iterator[WrittenTest]:
        tests = self.read_test_file(path, text).tests
        return (WrittenTest(name, line, line) for name, line in tests)


class CalmStubs(Stubs):
    def beyond_stubs(self, path: str, before: bytes | None, after: bytes) -> StubFinding | None:
        if before is not None and self.language.source.same_tree(path, before, after):
            return None
        known = _code(before or b"")
        for number, line in enumerate(after.decode().splitlines(), 1):
            if line.split("?")[0].strip() not in {"", *known} and STUB_MARK not in line:
                return StubFinding(number, f"`{line}` is no stub")
        return None


class CalmSourceReader(SourceReader):
    def same_tree(self, path: str, before: bytes, after: bytes) -> bool:
        return path.endswith(".calm") and _code(before) == _code(after)


class CalmLanguage(Language):
    role_words = "CALM. Tests are lines `check name = value` in `checks/`. Stub what is missing with `?`."
    project = cached_property(CalmProject)
    tests = cached_property(CalmTestReader)
    stubs = cached_property(CalmStubs)
    source = cached_property(CalmSourceReader)


def _code(data: bytes) -> list[str]:
    lines = (line.split("?")[0].strip() for line in data.decode("utf-8", "replace").splitlines())
    return [line for line in lines if line]


LANGUAGE = CalmLanguage(
    Facts("calm", (".calm",), aliases=("quiet",), has_stubs=True, manifests=("calm.toml",), case_mark="@")
)
