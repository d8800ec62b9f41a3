"""Why a Go test failed, as far as its output tells: an assertion, a panic, a subtest."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.core.report import Failure, Place
from verdigris.runners.results import relative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.runners.go_events import Told

_PANIC = re.compile(r"^(panic|fatal error): (.*(?:\n(?!goroutine |\n).*)*)", re.MULTILINE)
_RECOVERED = re.compile(r" \[recovered[^\]]*\]")
_RUNNING = re.compile(r"^goroutine \d+ .*\[(?:running|.*)\]:\n", re.MULTILINE)
_FRAME = re.compile(r"^\t(\S.*\.go):(\d+)(?: \+0x[0-9a-f]+)?$", re.MULTILINE)
_LOGGED = re.compile(r"^ +(\S.*?\.go):(\d+): ?", re.MULTILINE)
_TRACE = re.compile(r"Error Trace:\s+(\S.*?\.go):(\d+)")
_CLOSING = re.compile(r"^ *--- FAIL: .*\n?", re.MULTILINE)


def go_failure(name: str, tests: Mapping[str, Told], worktree: str, folder: str) -> Failure:
    """`folder` is the package's, where a test runs and from which relative names start."""
    output = tests[name].output
    died = _PANIC.search(output)
    if died and _RUNNING.search(output, died.end()):
        return _panicked(died, output, worktree, folder)
    for other in tests:
        if other.startswith(name + "/") and "/" not in other[len(name) + 1 :] and "fail" in tests[other].ends:
            inner = go_failure(other, tests, worktree, folder)
            return replace(inner, message=f"{other}: {inner.message}")
    return _asserted(name, output, worktree, folder)


def _panicked(died: re.Match[str], output: str, worktree: str, folder: str) -> Failure:
    message = _RECOVERED.sub("", died[2]).strip()
    kind = "Timeout" if message.startswith("test timed out after") else died[1]
    running = _RUNNING.search(output, died.end())
    stack = output[running.end() if running else died.end() :].partition("\n\n")[0]
    stack = stack.partition("\ncreated by ")[0]
    places = [Place(relative(path, worktree, folder), int(line)) for path, line in _FRAME.findall(stack)]
    frames = tuple(place for place in reversed(places) if not place.path.startswith("/"))
    return Failure(
        kind, assertion=False, message=message, place=frames[-1] if frames else None, frames=frames
    )


def _asserted(name: str, output: str, worktree: str, folder: str) -> Failure:
    """`t.Log` and `t.Error` print alike; the last one said is taken for the reason."""
    said = _CLOSING.sub("", output)
    logged = list(_LOGGED.finditer(said))
    trace = _TRACE.search(said)
    if not logged:
        kind = "Example" if name.startswith("Example") else "t.Fail"
        _, _, compared = said.partition("got:\n")
        message = f"got:\n{compared}".strip() if compared else "it failed and gave no reason"
        return Failure(kind, assertion=True, message=message)
    last = logged[-1]
    place = Place(relative(last[1], worktree, folder), int(last[2]))
    if trace:
        place = Place(relative(trace[1], worktree, folder), int(trace[2]))
    kind = "testify" if trace else "t.Error"
    return Failure(kind, assertion=True, message=said[last.end() :].strip(), place=place, frames=(place,))
