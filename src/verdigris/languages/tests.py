"""Reads the tests of a file in any language, and the marks above them: `@tdd-id: slug`, `@scenario: ID`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.report import Place
from verdigris.core.test_ids import MARK, REACH, split_id
from verdigris.core.value import replace, value
from verdigris.languages.findings import IdMark, TestFacts
from verdigris.languages.registry import UNREAD, has_grammar, language_for, read_all, reader_of
from verdigris.languages.test_comments import marks_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.core.report import TestReport, TestResult
    from verdigris.languages.assertions import TestReading
    from verdigris.languages.findings import TestComment, WrittenTest
    from verdigris.languages.protocol import Language


def read_tests(texts: Mapping[str, str]) -> dict[str, TestReading]:
    """Reads the tests of files that have a grammar."""
    return read_all({path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()})


def still_written(texts: Mapping[str, str], unseen: Iterable[str], seen: Collection[str]) -> list[str]:
    """The tests (native ids) that no run reported although their text is still in the file.

    If the text makes several tests and a run reported another of them, the test is not listed: its row of
    the table may have changed.
    """
    readings = read_tests({path: text for path, text in texts.items() if has_grammar(path)})
    written = []
    for native in unseen:
        path = split_id(native).path
        if path not in readings:
            if reader_of(path).tests.stands(texts.get(path, ""), split_id(native).function):
                written.append(native)
            continue
        language = reader_of(path)
        others = [_name(each) for each in seen if split_id(each).path == path]
        makers = [test for test in readings[path].tests if language.ids.makes(test.name, _name(native))]
        reported = (language.ids.makes(test.name, other) for test in makers for other in others)
        if makers and not any(reported):
            written.append(native)
    return written


def _name(native: str) -> str:
    """Returns the id without its file."""
    return native[len(split_id(native).path) + 2 :]


def find_test_at(path: str, text: str, line: int, known: Collection[str]) -> WrittenTest | None:
    """The innermost test at a line. `known`: native ids that runs reported, all there is in unread files."""
    holding = [test for test in written_tests(path, text, known) if test.first <= line <= test.last]
    return max(holding, key=lambda test: test.first, default=None)


def text_of_test(path: str, text: str, name: str) -> str | None:
    """The lines of a test, or of the test that makes it; None if the file does not contain it."""
    native = f"{path}::{name}"
    tests = tuple(written_tests(path, text, (native,)))
    same = (test for test in tests if test.name == name)
    written = next(same, None) or next((test for test in tests if is_made_by(path, test.name, native)), None)
    return None if written is None else "\n".join(text.splitlines()[written.first - 1 : written.last])


def is_written(path: str, text: str, native: str) -> bool:
    """Whether the text contains the test of that id; True if the text does not parse."""
    if not (language_for(path) or UNREAD).tests.parses(path, text):
        return True
    return any(is_made_by(path, test.name, native) for test in written_tests(path, text, (native,)))


def is_made_by(path: str, name: str, native: str) -> bool:
    """Whether a reported test is the written one, or one of its cases."""
    where = split_id(native)
    if where.path != path:
        return False
    if has_grammar(path):
        return reader_of(path).ids.makes(name, native[len(path) + 2 :])
    return name in {where.function, native[len(path) + 2 :]}


def written_tests(path: str, text: str, known: Iterable[str]) -> Iterator[WrittenTest]:
    names = {split_id(native).function for native in known if split_id(native).path == path}
    language = language_for(path) or UNREAD
    return language.tests.written_tests(path, text, names)


def written_test(path: str, text: str, native: str) -> WrittenTest | None:
    """The test that a run reports by this id, as it stands in the text."""
    return next(
        (one for one in written_tests(path, text, (native,)) if is_made_by(path, one.name, native)), None
    )


def is_revised(name: str, revised: Collection[str]) -> bool:
    """Whether `revised` names a path or test id, or a folder, file, class, describe or function around it."""
    return any(
        name == one or name.startswith((f"{one.rstrip('/')}/", f"{one}::", f"{one} › ", f"{one}["))
        for one in revised
    )


def without(texts: Mapping[str, str], revised: Collection[str]) -> dict[str, str]:
    """The texts without the files, classes and functions that were given up."""
    left = {path: text for path, text in texts.items() if not is_revised(path, revised)}
    for one in revised:
        where = split_id(one)
        if where.function and where.path in left:
            left[where.path] = reader_of(where.path).tests.without_test(left[where.path], where.function)
    return left


@value
class Duplicate:
    slug: str
    first: Place
    second: Place


def marks(path: str, text: str) -> tuple[IdMark, ...]:
    """Lists `@tdd-id` marks in the order of the text; none in a language that is not read."""
    language = language_for(path)
    return () if MARK not in text or language is None else marks_of(language.tests.test_comments(path, text))


def apply(report: TestReport, texts: Mapping[str, str]) -> TestReport:
    """Renames the results of a report to the ids that marks in `texts` give; a case keeps its own name."""
    marked = {path: marks(path, text) for path, text in texts.items()}
    return replace(report, results=tuple(_rename_result(result, marked) for result in report.results))


def _rename_result(result: TestResult, known: Mapping[str, tuple[IdMark, ...]]) -> TestResult:
    path = split_id(result.native_id).path
    for mark in known.get(path, ()):
        case = reader_of(path).ids.case_of(mark, path, result)
        if case is not None:
            return replace(result, id=mark.slug + case, id_source="annotation")
    return result


def duplicates(texts: Mapping[str, str]) -> tuple[Duplicate, ...]:
    places: dict[str, Place] = {}
    twice = []
    for path in sorted(texts):
        for mark in sorted(marks(path, texts[path]), key=lambda each: each.line):
            here = Place(path, mark.line)
            first = places.setdefault(mark.slug, here)
            if first != here:
                twice.append(Duplicate(mark.slug, first, here))
    return tuple(twice)


def refuse_duplicates(texts: Mapping[str, str]) -> None:
    for twice in duplicates(texts):
        first, second = (f"{place.path}:{place.line}" for place in (twice.first, twice.second))
        raise UserError(
            f"the test id {twice.slug} is used twice: {first} and {second}",
            hint=f"give one of them another `{MARK}:`, e.g. {twice.slug}-2",
        )


SCENARIO = "@scenario"
_SIGN = r"(?:#+\s*|//+!?\s*|/\*[\s*!]*|--+\s*|\*[\s*]*)"
_MARK = re.compile(rf"\s*{_SIGN}{SCENARIO}s?\b(?P<colon>\s*:)?(?P<rest>.*)", re.DOTALL)
_BELOW = f"put it on a line of its own, at most {REACH} lines above a test"


@value
class ScenarioMark:
    """One `@scenario` comment and the test below it."""

    path: str
    line: int
    """The line of the comment."""
    scenarios: tuple[str, ...]
    test_id: str
    """The id that a run reports, without cases: the slug of its `@tdd-id`, else the native id.
    It is the path of the file if only a run shows the name."""
    facts: TestFacts | None
    """None if the test's body cannot be read."""
    test: IdMark

    def is_carried_by(self, result: TestResult) -> bool:
        """Whether a result belongs to this test or to one of its cases."""
        language = language_for(self.path)
        return (
            language is not None
            and result.native_id.startswith(f"{self.path}::")
            and language.ids.case_of(self.test, self.path, result) is not None
        )


@value
class LooseMark:
    """A comment `@scenario` that belongs to no test."""

    path: str
    line: int
    why: str
    """The reason, and what to do about it."""


@value
class ScenarioMarks:
    marks: tuple[ScenarioMark, ...] = ()
    """The marks in the order of the text; a test may have several."""
    loose: tuple[LooseMark, ...] = ()


def read_scenario_marks(path: str, data: bytes) -> ScenarioMarks:
    """Reads the marks of a test file, or of source with tests in it. Accepts any bytes."""
    text = data.decode("utf-8", "surrogateescape")
    if SCENARIO not in text:
        return ScenarioMarks()
    language = language_for(path) or UNREAD
    comments = language.tests.test_comments(path, text)
    if not comments:
        return ScenarioMarks((), tuple(_find_unread(path, text)))
    read = [_read_mark(language, path, text, one) for one in comments]
    return ScenarioMarks(
        tuple(one for one in read if isinstance(one, ScenarioMark)),
        tuple(one for one in read if isinstance(one, LooseMark)),
    )


def _find_unread(path: str, text: str) -> Iterator[LooseMark]:
    why = "the tests of this file cannot be read: it does not parse, or nothing here reads its language"
    for number, line in enumerate(text.split("\n"), 1):
        if _MARK.match(line):
            yield LooseMark(path, number, why)


def _read_mark(
    language: Language, path: str, text: str, comment: TestComment
) -> ScenarioMark | LooseMark | None:
    match = _MARK.match(comment.text)
    if match is None:
        return None
    rest = match["rest"].strip()
    ids = rest.removesuffix("*/").rstrip("*") if rest.endswith("*/") else rest
    scenarios = tuple(one.strip(" \t`") for one in ids.split(",") if one.strip(" \t`"))
    if not match["colon"] or not scenarios or any(" " in one for one in scenarios):
        return LooseMark(path, comment.line, f"write `{SCENARIO}: ID` or `{SCENARIO}: ID, ID`")
    if comment.test is None:
        return LooseMark(path, comment.line, f"it stands above no test; {_BELOW}")
    mark = IdMark("", comment.line, comment.test)
    facts = language.tests.test_facts(path, text, mark)
    if facts is None and language.tests.parses(path, text):
        return LooseMark(path, comment.line, f"what stands below is no test; {_BELOW}")
    regions = language.test_regions()
    if regions is not None and not regions.is_test_line(
        text.encode("utf-8", "surrogateescape"), comment.line
    ):
        return LooseMark(
            path, comment.line, f"it is no part of the test below; {_BELOW}, without an empty line between"
        )
    return ScenarioMark(path, comment.line, scenarios, _test_id(language, path, text, mark), facts, mark)


def _test_id(language: Language, path: str, text: str, mark: IdMark) -> str:
    slug = next((one.slug for one in marks(path, text) if one.test == mark.test), None)
    return slug or language.ids.written_id(path, mark) or path
