"""Calm, a language that does not exist: lines `let name = value`, and tests `check name = subject, value`.

All that Verdigris has to know of it stands in this folder; an entry point leads to `LANGUAGE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random

from verdigris.core.languages import STUB_MARK, Facts
from verdigris.core.settings import Stack
from verdigris.languages.assertions import (
    Check,
    Mark,
    PlainFact,
    TestReading,
    TestSeen,
    Word,
    Words,
    assertion,
)
from verdigris.languages.conventions import Usual, any_of, anywhere
from verdigris.languages.findings import Mutant, Mutated, StubFinding, TestComment
from verdigris.languages.folders import Folder, FoundStacks, folders_with
from verdigris.languages.grammar.language import GrammarTestReader
from verdigris.languages.grammar.literals import Pool, other_literals
from verdigris.languages.probes import ByteEdit, Probe, ProbeChange, apply_edits
from verdigris.languages.protocol import Language, Liveness, Project, SourceReader, Stubs
from verdigris.languages.test_comments import Comment, Declared, assign_comments

_CHECK = re.compile(
    r"(?P<sign>check|later) (?P<name>[\w ]+?) = (?P<subject>[^,?]+?)(?:, (?P<expected>[^?]+?))?(?= *(?:\?|$))"
)
_LET = re.compile(r"let \w+ = [^?]*[^? ]")
_READ = re.compile(rf"\s*(?:\?.*)?$|{_CHECK.pattern}|{_LET.pattern}")
_NUMBER = re.compile(r"\b\d+\b")


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


class CalmTestReader(GrammarTestReader):
    """All that Verdigris asks of tests follows from the reading of a file."""

    def has_grammar(self, path: str) -> bool:
        return path.endswith(".calm")

    def read_tests(self, files: Mapping[str, bytes]) -> dict[str, TestReading]:
        return {path: _read(path, _lines(data)) for path, data in files.items()}

    def test_comments(self, path: str, text: str) -> tuple[TestComment, ...]:
        lines = [*enumerate(text.splitlines(), 1)]
        declared = [Declared(at, at, test["name"]) for at, line in lines if (test := _CHECK.match(line))]
        comments = (Comment(at, line, is_alone=True) for at, line in lines if line.startswith("?"))
        return assign_comments(comments, declared)

    def with_skip(self, path: str, data: bytes, name: str, why: str) -> bytes | None:
        tests = {test["name"]: (start, test) for _, start, test in _matches(_CHECK, data)}
        if name not in tests or tests[name][1]["sign"] == "later":
            return data if name in tests else None
        start, test = tests[name]
        return apply_edits(
            data,
            [
                ByteEdit(start, start + len("check"), "later"),
                ByteEdit(start + test.end(), start + test.end(), f" ? {why}"),
            ],
        )


def _read(path: str, lines: list[str]) -> TestReading:
    matches = [(at, match) for at, line in enumerate(lines, 1) if (match := _CHECK.match(line))]
    return TestReading(
        tuple(TestSeen(test["name"], at, test[0], at) for at, test in matches),
        tuple(_fact(path, at, test) for at, test in matches),
        tuple(Mark("skipped", at, test[0], test["name"]) for at, test in matches if test["sign"] == "later"),
        whole=all(_READ.match(line) for line in lines),
    )


def _fact(path: str, line: int, test: re.Match[str]) -> PlainFact:
    """A test `check name = subject, expected` pins a value; without one it only asks for an answer."""
    subject, expected = (_words(test[part] or "") for part in ("subject", "expected"))
    rank = 5 if expected else 1
    words = (*subject, *expected)
    match, loose = (assertion(line, test[0], test["name"], (), words, loose=one) for one in (False, True))
    check = Check("is", rank, subject, expected)
    return PlainFact(path, line, test[0], test["name"], (), match, "", check, loose)


def _words(text: str) -> Words:
    return tuple(Word(one, name=one.isidentifier(), called=at == 0) for at, one in enumerate(text.split()))


class CalmLiveness(Liveness):
    def probes(
        self, texts: Mapping[str, bytes], asked: Iterable[str], dice: Random, count: int
    ) -> tuple[Probe, ...]:
        wanted = frozenset(asked)
        return tuple(
            Probe(path, line, test[0], changes[:count], frozenset({native}), last=line)
            for path, data in texts.items()
            for line, start, test in _matches(_CHECK, data)
            if (native := f"{path}::{test['name']}") in wanted
            and (changes := tuple(_other_values(start, test, dice)))
        )


def _other_values(start: int, test: re.Match[str], dice: Random) -> Iterator[ProbeChange]:
    text = test["expected"] or ""
    for other in other_literals(text, Pool(), dice) if text else ():
        edit = ByteEdit(start + test.start("expected"), start + test.end("expected"), other)
        yield ProbeChange((edit,), f"{text} → {other}")


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

    def mutants(self, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Mutated:
        """Changes each number in the lines that no file had before."""
        known = {line for data in before.values() for line in _code(data or b"")}
        return Mutated(
            tuple(
                _mutant(path, data, at, start, number)
                for path, data in after.items()
                if data is not None
                for at, start, line in _matches(_LET, data)
                if line[0] not in known
                for number in _NUMBER.finditer(line[0])
            )
        )


def _mutant(path: str, data: bytes, line: int, start: int, number: re.Match[str]) -> Mutant:
    other = str(int(number[0]) + 1)
    changed = apply_edits(data, [ByteEdit(start + number.start(), start + number.end(), other)])
    return Mutant(path, line, f"`{number[0]}` → `{other}`: no test notices", changed)


class CalmLanguage(Language):
    role_words = "CALM. Tests are lines `check name = value` in `checks/`. Stub what is missing with `?`."
    project = cached_property(CalmProject)
    tests = cached_property(CalmTestReader)
    stubs = cached_property(CalmStubs)
    source = cached_property(CalmSourceReader)
    liveness = cached_property(CalmLiveness)


def _lines(data: bytes) -> list[str]:
    return data.decode("latin-1").split("\n")


def _code(data: bytes) -> list[str]:
    return [line for text in _lines(data) if (line := text.split("?")[0].strip())]


def _matches(pattern: re.Pattern[str], data: bytes) -> Iterator[tuple[int, int, re.Match[str]]]:
    """The lines that match, each with its number and the offset where it begins; a sign is a byte."""
    start = 0
    for number, line in enumerate(_lines(data), 1):
        if match := pattern.match(line):
            yield number, start, match
        start += len(line) + 1


LANGUAGE = CalmLanguage(
    Facts("calm", (".calm",), aliases=("quiet",), has_stubs=True, manifests=("calm.toml",), case_mark="@")
)
