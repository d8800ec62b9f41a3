"""Selects tests for a Node tool, and reads a JavaScript failure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from verdigris.core.report import CollectError, Failure, Place
from verdigris.core.value import value
from verdigris.languages.node.test_ids import split_node_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verdigris.runners.protocol import TestRequest


NOTHING = "(?!)"
"""A pattern that no name matches: every test is collected and none runs."""
_ARGUMENT = 100_000
"""The most bytes of one pattern; Linux takes 128 KiB for one argument."""
_PLAIN = re.compile(r"[^A-Za-z0-9_]")
_BETWEEN = " (?:> )?"
"""A pattern for what is between the names of a test: ` > ` in vitest 5, a space in the others."""


@value
class SelectionBatch:
    """What one call selects: files and folders relative to the worktree, and a pattern of names.

    None means all.
    """

    paths: tuple[str, ...]
    pattern: str | None = None


def by_path(names: Sequence[str]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Groups the requested tests by path; an empty tuple requests the whole path."""
    chosen: dict[str, list[tuple[str, ...]]] = {}
    whole: set[str] = set()
    for name in names:
        test = split_node_id(name)
        path = posixpath.normpath(test.path or ".")
        asked = chosen.setdefault(path, [])
        if test.names:
            asked.append(test.names)
        else:
            whole.add(path)
    return {path: () if path in whole else tuple(dict.fromkeys(names)) for path, names in chosen.items()}


def is_chosen(selected: Mapping[str, tuple[tuple[str, ...], ...]], path: str, names: tuple[str, ...]) -> bool:
    """Whether a test is asked for. `asked` comes from `by_path`; if it is empty, all tests are."""
    if not selected:
        return True
    parts = path.split("/")
    folders = ("/".join(parts[:end]) for end in range(1, len(parts)))
    if "." in selected or any(folder in selected for folder in folders):
        return True
    return path in selected and (not selected[path] or names in selected[path])


def batches(request: TestRequest) -> tuple[SelectionBatch, ...]:
    """One batch if possible.

    Whole files get a batch of their own: a pattern of names would exclude their tests.
    """
    selected = by_path(request.names)
    if request.collect_only:
        return (SelectionBatch(tuple(selected), NOTHING),)
    whole = tuple(path for path, names in selected.items() if not names)
    some = {path: names for path, names in selected.items() if names}
    return (*([SelectionBatch(whole)] if whole or not some else ()), *_batches_by_name(some))


def _batches_by_name(selected: Mapping[str, tuple[tuple[str, ...], ...]]) -> Iterator[SelectionBatch]:
    paths: dict[str, None] = {}
    patterns: dict[str, None] = {}
    size = 0
    for path, names in selected.items():
        for each in names:
            pattern = name_pattern(each)
            if patterns and size + len(pattern) > _ARGUMENT:
                yield SelectionBatch(tuple(paths), _any_of(patterns))
                paths, patterns, size = {}, {}, 0
            size += 0 if pattern in patterns else len(pattern) + 1
            paths[path] = patterns[pattern] = None
    if patterns:
        yield SelectionBatch(tuple(paths), _any_of(patterns))


def _any_of(patterns: Iterable[str]) -> str:
    return f"^(?:{'|'.join(patterns)})$"


def name_pattern(names: Sequence[str]) -> str:
    """A pattern for the full name of one test, as a JavaScript RegExp without flags."""
    between = _BETWEEN if all(names) else f"(?:{_BETWEEN})?"
    return between.join(escape(name) for name in names)


def escape(text: str) -> str:
    """Escapes a text for a RegExp, in ASCII only: an argument then means the same in every locale."""
    return _PLAIN.sub(lambda match: _units(match[0]), text)


def _units(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def full_path(request: TestRequest, path: str) -> str:
    return posixpath.normpath(posixpath.join(request.worktree, path))


if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Located = Callable[[str], str]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(
    r"^ *at (?:async )?(?:.*\()?(?P<file>(?:file://)?/.*?)(?P<query>\?[^:)]*)?:(?P<line>\d+):\d+\)?$"
)
_TOOLS = re.compile(
    r"/node_modules/(?:\.pnpm/[^/]+/node_modules/)?(?:@?vitest|vite|vite-node|chai|tinypool|tinyspy|@?jest|expect|"
    r"jest-[\w-]+|babel-jest|ts-jest)/"
)
_TIMEOUT = re.compile(r"^(?:thrown: \")?(?:Test|Hook|Exceeded timeout|test) ?(?:timed out|of \d+ ?ms)")
_HOOK_TIMEOUT = re.compile(r"^(?:thrown: \")?(?:Hook timed out|Exceeded timeout of \d+ ?ms for a hook)")
_IN_HOOK = re.compile(r"^ *at _callCircusHook ", re.MULTILINE)
_MATCHER = re.compile(
    r"^(?:expect[(.]|assert(?:\.\w+)+\(|assert\(|Snapshot `|expected (?:any )?number of assertions)"
)
_NO_MODULE = frozenset({"MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT"})
_NOT_IMPORTED = re.compile(
    r"^(?:Cannot find (?:module|package)|Failed to (?:load url|resolve import|resolve entry)|"
    r"The requested module .* does not provide an export|Missing \"[^\"]*\" (?:specifier|export))"
)
_NOT_PARSED = re.compile(
    r"Transform failed|PARSE_ERROR|Failed to parse|Parse failure|encountered an unexpected token"
)
_NOTICED = re.compile(r"(?:node:|file://|/)\S+:\d+\n")
_RAISED = re.compile(r"^\w*Error(?: \[\w+\])?: .*$", re.MULTILINE)
_CANCELLED = frozenset({"testTimeoutFailure", "cancelledByParent"})
_BASES: Mapping[str, tuple[str, ...]] = {
    "ReferenceError": ("ReferenceError", "NameError", "Error"),
    "SyntaxError": ("Error",),
}
"""The base classes of a kind, by the core's names.

In a running test a SyntaxError comes from a parser under test.
"""


def failure(errors: list[Any], located: Located, test: Place | None) -> Failure:
    """The failure of the first error.

    `test`: the test's own frame, for an asynchronous stack that lost it.
    """
    error = errors[0] if errors else {}
    message = plain(error.get("message") or "")
    kind = error.get("name") or "Error"
    if error.get("type") in _CANCELLED or _TIMEOUT.match(message):
        return Failure("Timeout", assertion=False, message=message)
    frames = _frames(error.get("stack") or "", located, test)
    missing = is_not_imported(error, message)
    subject = error.get("subject")
    return Failure(
        kind=kind,
        assertion=_is_assertion(error, kind, message),
        message=message,
        place=frames[-1] if frames else None,
        frames=frames,
        bases=("ImportError", "Error") if missing else _BASES.get(kind, (kind,)),
        subject=located(subject) if isinstance(subject, str) else None,
    )


def is_of_hook(errors: list[Any]) -> bool:
    """Whether a hook failed: jest shows that only in the stack, and does not say which hook."""
    error = errors[0] if errors else {}
    stack, message = error.get("stack") or "", error.get("message") or ""
    return bool(_IN_HOOK.search(stack) or _HOOK_TIMEOUT.match(message))


def collect_error(path: str, error: Mapping[str, Any], *, unhandled: bool = False) -> CollectError:
    """The error of a file; `ImportError` and `SyntaxError` are the core's names for two kinds."""
    if unhandled:
        return CollectError(path, error.get("type") or "Unhandled", plain(error.get("message") or ""))
    message = plain(error.get("message") or "")
    text = plain(error.get("text") or "").replace("  ● Test suite failed to run\n\n", "").strip()
    kind = error.get("name") or "Error"
    if is_not_imported(error, message or text):
        kind = "ImportError"
    elif (
        kind == "SyntaxError"
        or error.get("code") == "BABEL_PARSE_ERROR"
        or _NOT_PARSED.search(message or text)
    ):
        kind = "SyntaxError"
    return CollectError(
        path, kind, _with_error_first(text) or message or _head(plain(error.get("stack") or ""))
    )


def _with_error_first(text: str) -> str:
    """Moves the line of the error to the front: node prints the place before it."""
    match = _RAISED.search(text) if _NOTICED.match(text) else None
    return f"{match[0]}\n{text}" if match else text


def is_not_imported(error: Mapping[str, Any], message: str) -> bool:
    return error.get("code") in _NO_MODULE or bool(_NOT_IMPORTED.match(message))


def plain(text: str) -> str:
    return _COLOUR.sub("", text)


def _is_assertion(error: Mapping[str, Any], kind: str, message: str) -> bool:
    named = kind == "AssertionError" or error.get("code") == "ERR_ASSERTION"
    return named or error.get("matcher") is True or (kind == "Error" and bool(_MATCHER.match(message)))


def _head(stack: str) -> str:
    return stack.split("\n    at ", 1)[0]


def _frames(stack: str, located: Located, test: Place | None) -> tuple[Place, ...]:
    """The frames from the test's own down, without those of the tools."""
    frames = []
    for line in reversed(stack.split("\n")):
        frame = _FRAME.match(line)
        if frame and not _TOOLS.search(frame["file"]):
            frames.append(Place(located(_path(frame["file"])), int(frame["line"])))
    if test is None:
        return tuple(frames)
    start = next((at for at, frame in enumerate(frames) if frame.path == test.path), None)
    return (test, *frames) if start is None else tuple(frames[start:])


def _path(file: str) -> str:
    return unquote(file.removeprefix("file://")) if file.startswith("file://") else file
