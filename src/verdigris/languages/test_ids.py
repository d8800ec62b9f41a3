"""Test ids that a comment `@tdd-id: slug` gives, in every language."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.report import Place
from verdigris.core.test_ids import MARK, split_id
from verdigris.core.value import value
from verdigris.languages.registry import language_for, reader_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import TestReport, TestResult
    from verdigris.languages.findings import IdMark


@value
class Duplicate:
    slug: str
    first: Place
    second: Place


def marks(path: str, text: str) -> tuple[IdMark, ...]:
    """In the order of the text; a language that is not read has none."""
    language = language_for(path)
    return () if MARK not in text or language is None else language.marks(text)


def apply(report: TestReport, texts: Mapping[str, str]) -> TestReport:
    """The report under the ids that annotations in `texts` (by path) give; a case keeps its own name."""
    known = {path: marks(path, text) for path, text in texts.items()}
    return replace(report, results=tuple(_rename_result(result, known) for result in report.results))


def _rename_result(result: TestResult, known: Mapping[str, tuple[IdMark, ...]]) -> TestResult:
    path = split_id(result.native_id).path
    for mark in known.get(path, ()):
        case = _case(mark, path, result)
        if case is not None:
            return replace(result, id=mark.slug + case, id_source="annotation")
    return result


def _case(mark: IdMark, path: str, result: TestResult) -> str | None:
    """What an id has after its slug; None where the mark belongs to another test."""
    return reader_of(path).case_of(mark, path, result)


def native_of(path: str, mark: IdMark, case: str) -> str:
    """The native id of a marked test, or its file where only a run can tell."""
    return reader_of(path).native_id(path, mark, case)


def written_as(path: str, mark: IdMark) -> str | None:
    """The id of a marked test as its text tells it: of a table without cases; None where it is computed."""
    return reader_of(path).written_id(path, mark)


def duplicates(texts: Mapping[str, str]) -> tuple[Duplicate, ...]:
    seen: dict[str, Place] = {}
    found = []
    for path in sorted(texts):
        for mark in sorted(marks(path, texts[path]), key=lambda each: each.line):
            here = Place(path, mark.line)
            first = seen.setdefault(mark.slug, here)
            if first != here:
                found.append(Duplicate(mark.slug, first, here))
    return tuple(found)


def refuse_duplicates(texts: Mapping[str, str]) -> None:
    for twice in duplicates(texts):
        first, second = (f"{place.path}:{place.line}" for place in (twice.first, twice.second))
        raise UserError(
            f"the test id {twice.slug} is used twice: {first} and {second}",
            hint=f"give one of them another `{MARK}:`, e.g. {twice.slug}-2",
        )
