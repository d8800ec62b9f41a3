"""Test ids that a comment `@tdd-id: slug` gives, in every language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core import test_ids as testids
from verdigris.core.errors import UserError
from verdigris.core.languages import RUST, language_of
from verdigris.core.report import Place
from verdigris.core.test_ids import MARK, REACH, split_id
from verdigris.core.value import value
from verdigris.languages.grammar import text as bracetext
from verdigris.languages.node import test_ids as nodeids
from verdigris.languages.node.test_ids import Declaration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.report import TestReport, TestResult

_COMMENT = re.compile(r"//\s*@tdd-id:\s*([A-Za-z0-9][\w.-]*)\s*$")


@value
class Mark:
    slug: str
    line: int
    """Of the comment."""
    test: str | Declaration
    """As it is called in its file."""


@value
class Duplicate:
    slug: str
    first: Place
    second: Place


def marks(path: str, text: str) -> tuple[Mark, ...]:
    """In the order of the text; a language that is not read has none."""
    if MARK not in text:
        return ()
    match language_of(path):
        case "python":
            found = testids.annotated(text).items()
            return tuple(Mark(each.slug, each.line, name) for name, each in found)
        case "node":
            return tuple(Mark(each.slug, each.line, each.test) for each in nodeids.annotated(text))
        case "rust" | "go" as language:
            return _above_functions(language, text)
        case _:
            return ()


def _above_functions(language: str, text: str) -> tuple[Mark, ...]:
    defined = bracetext.functions(language, text)
    found = []
    for line, comment in bracetext.line_comments(language, text):
        mark = _COMMENT.match(comment)
        owner = next((each for each in defined if each.line > line), None)
        if mark and owner is not None and owner.name and owner.line - line <= REACH:
            found.append(Mark(mark[1], line, owner.name))
    return tuple(found)


def apply(report: TestReport, texts: Mapping[str, str]) -> TestReport:
    """The report under the ids that annotations in `texts` (by path) give; a case keeps its own name."""
    known = {path: marks(path, text) for path, text in texts.items()}
    return replace(report, results=tuple(_renamed(result, known) for result in report.results))


def _renamed(result: TestResult, known: Mapping[str, tuple[Mark, ...]]) -> TestResult:
    path = split_id(result.native_id).path
    for mark in known.get(path, ()):
        case = _case(mark, path, result)
        if case is not None:
            return replace(result, id=mark.slug + case, id_source="annotation")
    return result


def _case(mark: Mark, path: str, result: TestResult) -> str | None:
    """What an id has after its slug; None where the mark belongs to another test."""
    if isinstance(mark.test, Declaration):
        return nodeids.case(mark.test, nodeids.split_node_id(result.native_id).names, result.line)
    native = split_id(result.native_id)
    if language_of(path) == RUST:
        return _rust_case(mark.test, path, native.function)
    return native.case if native.function == mark.test else None


def _rust_case(name: str, path: str, function: str) -> str | None:
    """A name begins with the modules that lead to its file; a table of cases adds modules at its end."""
    for around in _modules(path):
        whole = f"{around}{name}"
        if function == whole or function.startswith(whole + "::"):
            return function[len(whole) :]
    return None


def _modules(path: str) -> tuple[str, ...]:
    """What may stand before the name of a test of this file, the likeliest first."""
    *parts, name = path.removesuffix(".rs").split("/")
    if name in {"lib", "main"}:
        return ("",)
    if name != "mod":
        parts.append(name)
    likely = len(parts) - _after_root(parts)
    lengths = sorted(range(len(parts) + 1), key=lambda length: (length != likely, length))
    return tuple("".join(f"{part}::" for part in parts[len(parts) - length :]) for length in lengths)


def _after_root(parts: list[str]) -> int:
    """Where the modules begin: behind the last `src`, or behind the file of `tests/` that is a crate."""
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            inside = parts[index + 1 : index + 2]
            return min(index + (3 if inside == ["bin"] else 1), len(parts))
        if parts[index] in {"tests", "benches", "examples"}:
            return min(index + 2, len(parts))
    return len(parts)


def native_of(path: str, mark: Mark, case: str) -> str:
    """The native id of a marked test, or its file where only a run can tell."""
    test = mark.test
    if isinstance(test, Declaration):
        if test.names is None or (test.is_each and not case):
            return path
        names = (*test.names[:-1], case[1:-1]) if test.is_each else test.names
        return nodeids.node_id(path, names)
    around = _modules(path)[0] if language_of(path) == RUST else ""
    return f"{path}::{around}{test}{case}"


def written_as(path: str, mark: Mark) -> str | None:
    """The id of a marked test as its text tells it: of a table without cases; None where it is computed."""
    if not isinstance(mark.test, Declaration):
        return native_of(path, mark, "")
    return None if mark.test.names is None else nodeids.node_id(path, mark.test.names)


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
