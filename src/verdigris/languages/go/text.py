"""What is read from the text of Go alone: functions, marks of tests, and where imports lead."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.languages.grammar.text import MOST_FILES, Function, TextReader, closure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verdigris.languages.findings import Imported
    from verdigris.languages.grammar.text import Token
    from verdigris.languages.protocol import Importable, ReadMany


_GO = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<text>`[^`]*`?|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])+')
    | (?P<word>[^\W\d]\w*)
    | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def _functions(tokens: list[Token]) -> Iterator[Function]:
    depth = 0
    for index, token in enumerate(tokens):
        if token.text == "func" and not depth and index + 1 < len(tokens):
            name = tokens[index + 1]
            yield Function(token.line, name.text if name.kind == "word" else "", token.line)
        depth += (token.text in {"{", "("}) - (token.text in {"}", ")"})


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    for found in _GO.finditer(text):
        if found.lastgroup != "space":
            yield str(found.lastgroup), found.start(), found.end()


READER = TextReader(_spans, _functions)


_GO_IMPORT = re.compile(rb'"([\w.\-/~]+)"')
_GO_HEAD = re.compile(rb"^(?:func|type|var|const)\b", re.MULTILINE)


def reaching(
    tests: Sequence[str], goals: frozenset[str], files: Sequence[str], read: ReadMany
) -> frozenset[str]:
    """By folders, which are packages: a file's name in an import is the folder's end."""
    sources = [path for path in files if path.endswith(".go")][:MOST_FILES]
    folders = {posixpath.dirname(path) for path in sources}
    leads: dict[str, set[str]] = {folder: set() for folder in folders}
    for path, data in read(sources).items():
        head = _GO_HEAD.split(data or b"", maxsplit=1)[0]
        for name in _GO_IMPORT.findall(head):
            text = f"/{name.decode('utf-8', 'replace')}"
            leads[posixpath.dirname(path)] |= {one for one in folders if not one or text.endswith(f"/{one}")}
    changed = {posixpath.dirname(path) for path in goals}
    return frozenset(test for test in tests if closure(posixpath.dirname(test), leads) & changed)


def import_targets(one: Imported, files: Importable) -> Iterator[str]:
    """Go names a folder, behind the name of its module."""
    for at in files.paths:
        folder = posixpath.dirname(at)
        if (
            at.endswith(".go")
            and not at.endswith("_test.go")
            and folder
            and f"/{one.module}".endswith(f"/{folder}")
        ):
            yield at
