"""What test files of any language assert, for the comparisons of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.declared import makes
from verdigris.core.languages import language_of
from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.languages.grammar.weakening import is_given_up
from verdigris.languages.python.testfile import TestFile
from verdigris.languages.python.testfile import read as read_python
from verdigris.languages.reading import is_read
from verdigris.languages.revising import stands

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from verdigris.languages.assertions import Reading


def read_tests(texts: Mapping[str, str]) -> dict[str, Reading]:
    """Of files that `is_read`."""
    from verdigris.languages.readings import read_all

    return read_all({path: text.encode("utf-8", "surrogateescape") for path, text in texts.items()})


def still_written(texts: Mapping[str, str], unseen: Iterable[str], seen: Collection[str]) -> list[str]:
    """Of the tests that no run tells of (native ids), those whose text stands in its file.

    Where one text makes several, the others speak for it: a row of its table may be another now.
    """
    readings = read_tests({path: text for path, text in texts.items() if is_read(path)})
    found = []
    for native in unseen:
        path = split_id(native).path
        if path not in readings:
            if stands(texts.get(path, ""), split_id(native).function):
                found.append(native)
            continue
        others = [_name(each) for each in seen if split_id(each).path == path]
        makers = [t for t in readings[path].tests if makes(language_of(path), t.name, _name(native))]
        told = (makes(language_of(path), test.name, other) for test in makers for other in others)
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
        return path.endswith(".py") or is_read(path)

    def read(self, path: str, text: str) -> TestFile:
        if not is_read(path):
            return read_python(text)
        reading = read_tests({path: text})[path]
        if not reading.whole:
            raise SyntaxError(path)
        file = reading.as_test_file()
        return TestFile(
            tuple(a for a in file.assertions if not is_given_up(path, a.scope, self.revised)),
            tuple(t for t in file.tests if not is_given_up(path, t[0], self.revised)),
            file.skips,
        )
