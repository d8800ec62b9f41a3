"""Reads the tests of a file in any language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.languages.assertions import TestFile
from verdigris.languages.grammar.weakening import is_given_up
from verdigris.languages.registry import UNREAD, has_grammar, language_for, read_all, reader_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from verdigris.languages.assertions import TestReading
    from verdigris.languages.findings import WrittenTest


def read_tests(texts: Mapping[str, str]) -> dict[str, TestReading]:
    """Reads the tests of files that have a grammar."""
    return read_all({path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()})


def still_written(texts: Mapping[str, str], unseen: Iterable[str], seen: Collection[str]) -> list[str]:
    """Those of the unreported tests (native ids) whose text still stands in its file.

    Where one text makes several, the others speak for it: a row of its table may be another now.
    """
    readings = read_tests({path: text for path, text in texts.items() if has_grammar(path)})
    found = []
    for native in unseen:
        path = split_id(native).path
        if path not in readings:
            if reader_of(path).stands(texts.get(path, ""), split_id(native).function):
                found.append(native)
            continue
        language = reader_of(path)
        others = [_name(each) for each in seen if split_id(each).path == path]
        makers = [test for test in readings[path].tests if language.makes(test.name, _name(native))]
        told = (language.makes(test.name, other) for test in makers for other in others)
        if makers and not any(told):
            found.append(native)
    return found


def _name(native: str) -> str:
    """Without its file."""
    return native[len(split_id(native).path) + 2 :]


@value
class TestReader:
    """For `languages.python.assertions.kept`."""

    __test__ = False

    revised: tuple[str, ...] = ()
    """Tests that were given up with a reason."""

    def reads(self, path: str) -> bool:
        return reader_of(path).reads_tests(path)

    def read(self, path: str, text: str) -> TestFile:
        file = reader_of(path).read_test_file(path, text)
        if not has_grammar(path):
            return file
        return TestFile(
            tuple(a for a in file.assertions if not is_given_up(path, a.scope, self.revised)),
            tuple(t for t in file.tests if not is_given_up(path, t[0], self.revised)),
            file.skips,
        )


def find_test_at(path: str, text: str, line: int, known: Collection[str]) -> WrittenTest | None:
    """`known`: native ids that runs reported; in a file that nothing here reads they are all there is."""
    holding = [test for test in written_tests(path, text, known) if test.first <= line <= test.last]
    return max(holding, key=lambda test: test.first, default=None)


def text_of_test(path: str, text: str, name: str) -> str | None:
    """None where it is not written there any more."""
    found = next(
        (test for test in written_tests(path, text, (f"{path}::{name}",)) if test.name == name), None
    )
    return None if found is None else "\n".join(text.splitlines()[found.first - 1 : found.last])


def is_written(path: str, text: str, native: str) -> bool:
    """Whether the text holds the test of that id; of a text that does not parse nobody can tell otherwise."""
    if not (language_for(path) or UNREAD).parses(path, text):
        return True
    return any(is_made_by(path, test.name, native) for test in written_tests(path, text, (native,)))


def is_made_by(path: str, name: str, native: str) -> bool:
    """Whether a reported test is the written one, or one of its cases."""
    where = split_id(native)
    if where.path != path:
        return False
    if has_grammar(path):
        return reader_of(path).makes(name, native[len(path) + 2 :])
    return name in {where.function, native[len(path) + 2 :]}


def written_tests(path: str, text: str, known: Iterable[str]) -> Iterator[WrittenTest]:
    names = {split_id(native).function for native in known if split_id(native).path == path}
    language = language_for(path) or UNREAD
    return language.written_tests(path, text, names)


def given_up(name: str, revised: Collection[str]) -> bool:
    """`name` is a path or a test id; a folder, file, class, describe or function stands for all in it."""
    return any(
        name == one or name.startswith((f"{one.rstrip('/')}/", f"{one}::", f"{one} › ", f"{one}["))
        for one in revised
    )


def without(texts: Mapping[str, str], revised: Collection[str]) -> dict[str, str]:
    """The texts without the files, classes and functions that were given up."""
    left = {path: text for path, text in texts.items() if not given_up(path, revised)}
    for one in revised:
        where = split_id(one)
        if where.function and where.path in left:
            left[where.path] = reader_of(where.path).without_test(left[where.path], where.function)
    return left
