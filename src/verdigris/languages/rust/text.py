"""What is read from the text of Rust alone: functions, marks and names of tests, and imports.

It also finds the source whose answer a test could not unwrap.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.languages.folders import first_known
from verdigris.languages.grammar.text import Function, TextReader
from verdigris.languages.rust.tokens import Unreadable, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.core.report import Failure, TestResult
    from verdigris.languages.grammar.text import Token


_WIDE = re.compile(r"[^\x00-\x7f]")


def _functions(tokens: list[Token]) -> Iterator[Function]:
    modules: list[tuple[int, str]] = []
    depth = 0
    begins: int | None = None
    for index, token in enumerate(tokens):
        after = [each.text for each in tokens[index + 1 : index + 3]]
        match token.text:
            case "#" if begins is None:
                begins = token.line
            case "fn" if after and tokens[index + 1].kind == "word":
                names = (*(name for _, name in modules), after[0])
                yield Function(begins or token.line, "::".join(names), token.line)
                begins = None
            case "mod" if after[1:] == ["{"]:
                modules.append((depth, after[0]))
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if modules and modules[-1][0] == depth:
                    modules.pop()
        if token.text in {"{", "}", ";"}:
            begins = None


def _spans(text: str) -> Iterator[tuple[str, int, int]]:
    # One byte a character: the reading is of bytes, and its places are to be the text's.
    data = _WIDE.sub("_", text).encode()
    try:
        yield from [(token.kind, token.start, token.end) for token in tokens(data)]
    except Unreadable:
        return


READER = TextReader(_spans, _functions)


def case_of(name: str, path: str, result: TestResult) -> str | None:
    """What follows the name of a marked test; None where it is another test."""
    function = split_id(result.native_id).function
    for around in modules(path):
        whole = f"{around}{name}"
        if function == whole or function.startswith(whole + "::"):
            return function[len(whole) :]
    return None


def modules(path: str) -> tuple[str, ...]:
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


KINDS = frozenset({"panic", "Err"})
"""A panic that is no assertion's, and an error that the test returned."""
_GIVES_UP = re.compile(r"\.(?:unwrap|expect)(?:_err)?\s*\(|\b(?:panic|unreachable)!")
_CALL = re.compile(r"(?<!fn )\b([a-z_]\w*)\s*(?:::\s*<[^()]*>)?\s*\(")
_DEFINED = re.compile(r"\bfn\s+([a-z_]\w*)")


def find_definitions(sources: Mapping[str, str]) -> dict[str, str]:
    """By name, the file of source that defines a function."""
    return {name: path for path, text in sources.items() for name in _DEFINED.findall(text)}


def find_unwrapped(
    failure: Failure, text: str, test: str, known: Mapping[str, str]
) -> tuple[str, int] | None:
    """The source file that was asked before it failed, and the line of the test; None where none was.

    `text` is that of the test's file, `test` its full name, `known` as from `defined`.
    """
    lines = text.splitlines()
    first, last = _span(text, test, len(lines))
    if failure.kind == "panic":
        at = failure.place.line if failure.place else 0
        if not first <= at <= last or not _GIVES_UP.search(lines[at - 1]):
            return None
        last = at
    called = _CALL.findall("\n".join(lines[first - 1 : last]))
    return next(((known[name], last) for name in called if name in known), None)


def _span(text: str, test: str, end: int) -> tuple[int, int]:
    """Its lines, from its name to what follows it; (1, 0) where it is not found."""
    found = READER.functions(text)
    for index, function in enumerate(found):
        if f"::{test}".endswith(f"::{function.name}"):
            return function.line, found[index + 1].line - 1 if index + 1 < len(found) else end
    return 1, 0


_MOD = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?:r#)?(\w+)\s*;", re.MULTILINE)
_USE = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+(?:::)?((?:\w+::)*\w+)", re.MULTILINE)
_LIBRARIES = frozenset({"std", "core", "alloc", "self"})


def imported_files(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    folder, name = posixpath.split(path)
    own = folder if name in {"lib.rs", "main.rs", "mod.rs"} else path.removesuffix(".rs")
    for module in _MOD.findall(text):
        tried = (f"{at}/{module}{end}" for at in (own, folder) for end in (".rs", "/mod.rs"))
        yield from first_known((posixpath.normpath(each) for each in tried), files)
    source = _crate_source(folder, files)
    for use in _USE.findall(text):
        top, *parts = use.split("::")
        if top in _LIBRARIES:
            continue
        if top != "super":
            yield from first_known((f"{source}/lib.rs", f"{source}/main.rs"), files)
        yield from _parts(folder if top == "super" else source, parts, files)


def _parts(at: str, parts: list[str], files: frozenset[str]) -> Iterator[str]:
    for part in parts:
        at = posixpath.join(at, part)
        yield from first_known((f"{at}.rs", f"{at}/mod.rs"), files)


def _crate_source(folder: str, files: frozenset[str]) -> str:
    """The `src` folder of the crate that a file belongs to."""
    at = folder
    while at and f"{at}/Cargo.toml" not in files:
        at = posixpath.dirname(at)
    return posixpath.join(at, "src")
