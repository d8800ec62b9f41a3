"""Reads what `go test -json` prints, and why a test failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from verdigris.core.report import CollectError, Failure, Place
from verdigris.runners.protocol import read_record, relative

_ENDS = frozenset({"pass", "fail", "skip"})
_AT = re.compile(r"^(?:vet: )?(\S[^\n:]*\.go):(\d+)(?::\d+)?: (.+)$", re.MULTILINE)
_UNBUILT = ("[build failed]", "[setup failed]")


@dataclass(slots=True)
class GoTestOutput:
    """The output of one test."""

    starts: int = 0
    ends: list[str] = field(default_factory=list)
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        return "".join(self.said)

    def is_confirmed(self, name: str) -> bool:
        """Whether the binary printed the end of the test: Go gives a test that was cut short its package's
        end.
        """
        lines = [line.lstrip(" ") for line in self.said]
        return any(line.startswith(f"--- {end.upper()}: {name} (") for end in self.ends for line in lines)


@dataclass(slots=True)
class GoPackage:
    end: str = ""
    said: list[str] = field(default_factory=list)
    tests: dict[str, GoTestOutput] = field(default_factory=dict)
    unbuilt: bool = False

    @property
    def output(self) -> str:
        return "".join(self.said)


@dataclass(slots=True)
class Events:
    packages: dict[str, GoPackage] = field(default_factory=dict)
    builds: dict[str, list[str]] = field(default_factory=dict)
    """The compiler's output, by import path."""
    plain: list[str] = field(default_factory=list)
    """Lines that are no events: an older Go prints build errors there."""


def read_events(output: bytes) -> Events:
    events = Events()
    for line in output.decode("utf-8", "replace").split("\n"):
        event = read_record(line) if line.startswith("{") else {}
        match event:
            case {"Action": "build-output", "ImportPath": str(path), "Output": str(text)}:
                events.builds.setdefault(path, []).append(text)
            case {"Action": "build-fail", "ImportPath": str(path)}:
                events.builds.setdefault(path, [])
            case {"Action": str(action), "Package": str(name)}:
                _take(events.packages.setdefault(name, GoPackage()), action, event)
            case _ if line:
                events.plain.append(line)
    return events


def _take(package: GoPackage, action: str, event: Mapping[str, Any]) -> None:
    test = event.get("Test")
    output = package.tests.setdefault(test, GoTestOutput()) if test else None
    if action == "output":
        text = str(event.get("Output", ""))
        (output or package).said.append(text)
        package.unbuilt = package.unbuilt or (output is None and text.rstrip().endswith(_UNBUILT))
    elif output is None:
        package.end = action if action in _ENDS else package.end
        package.unbuilt = package.unbuilt or "FailedBuild" in event
    elif action == "run":
        output.starts += 1
    elif action in _ENDS:
        output.ends.append(action)
        output.seconds = float(event.get("Elapsed", 0))


def build_errors(events: Events, worktree: str, folder: str) -> tuple[CollectError, ...]:
    """One error for each place that the compiler or vet named.

    Places are relative to `folder`, where go was called.
    """
    unbuilt = [name for name, package in events.packages.items() if package.unbuilt]
    texts = {path: "".join(lines) for path, lines in events.builds.items()}
    if unbuilt and not texts:
        texts = {"": "\n".join(events.plain)}
    errors: dict[CollectError, None] = {}
    for path, text in texts.items():
        places = _AT.findall(text)
        for file, line, message in places:
            at = relative(file, worktree, folder)
            errors[CollectError(at, _kind(message, text), f"{at}:{line}: {message}")] = None
        if not places:
            errors[CollectError("", "build failed", f"{path}: {text.strip()}")] = None
    return tuple(errors)


def _kind(message: str, text: str) -> str:
    if message.startswith("syntax error"):
        return "syntax error"
    return "vet" if "\nvet: " in f"\n{text}" else "build failed"


_PANIC = re.compile(r"^(panic|fatal error): (.*(?:\n(?!goroutine |\n).*)*)", re.MULTILINE)
_RECOVERED = re.compile(r" \[recovered[^\]]*\]")
_RUNNING = re.compile(r"^goroutine \d+ .*\[(?:running|.*)\]:\n", re.MULTILINE)
_FRAME = re.compile(r"^\t(\S.*\.go):(\d+)(?: \+0x[0-9a-f]+)?(?: fp=.*)?$", re.MULTILINE)
_WAITS = "\ntesting.(*T).Run("
_LOGGED = re.compile(r"^ +(\S.*?\.go):(\d+): ?", re.MULTILINE)
_TRACE = re.compile(r"Error Trace:\s+(\S.*?\.go):(\d+)")
_CLOSING = re.compile(r"^ *--- FAIL: .*\n?", re.MULTILINE)


def go_failure(name: str, tests: Mapping[str, GoTestOutput], worktree: str, folder: str) -> Failure:
    """Why a test failed.

    `folder`: that of the package, in which the test runs and to which paths are relative.
    """
    output = tests[name].output
    died = _PANIC.search(output)
    if died and _RUNNING.search(output, died.end()):
        return _failure_of_panic(name, died, output, worktree, folder)
    for other in tests:
        if other.startswith(name + "/") and "/" not in other[len(name) + 1 :] and "fail" in tests[other].ends:
            inner = go_failure(other, tests, worktree, folder)
            return replace(inner, message=f"{other}: {inner.message}")
    return _failure_of_assertion(name, output, worktree, folder)


def _failure_of_panic(name: str, died: re.Match[str], output: str, worktree: str, folder: str) -> Failure:
    message = _RECOVERED.sub("", died[2]).strip()
    running = _RUNNING.search(output, died.end())
    if message.startswith("test timed out after"):
        kind, frames = "Timeout", frames_of_test(output[died.end() :], name, worktree, folder)
    else:
        stack = output[running.end() if running else died.end() :].partition("\n\n")[0]
        kind, frames = died[1], _frames(stack, worktree, folder)
    return Failure(
        kind, assertion=False, message=message, place=frames[-1] if frames else None, frames=frames
    )


def frames_of_test(dump: str, name: str, worktree: str, folder: str) -> tuple[Place, ...]:
    """Where a test was when its binary printed all goroutines. That of a test starts with `testing.tRunner`.

    A test that waits for a part of its own is in `testing.(*T).Run`; the part has a goroutine of its own.
    """
    stacks = [stack for stack in dump.split("\n\n") if "\ntesting.tRunner(" in stack and _WAITS not in stack]
    called = re.compile(rf"^\S*\.{re.escape(name.partition('/')[0])}(?:\.|\()", re.MULTILINE)
    stack = next((stack for stack in stacks if called.search(stack)), stacks[0] if len(stacks) == 1 else "")
    return _frames(stack, worktree, folder)


def _frames(stack: str, worktree: str, folder: str) -> tuple[Place, ...]:
    """The frames of the project, from the outermost."""
    own = stack.partition("\ncreated by ")[0]
    places = [Place(relative(path, worktree, folder), int(line)) for path, line in _FRAME.findall(own)]
    return tuple(place for place in reversed(places) if not place.path.startswith("/"))


def _failure_of_assertion(name: str, output: str, worktree: str, folder: str) -> Failure:
    """The failure of an assertion.

    `t.Log` and `t.Error` print alike: the last text is taken for the reason.
    """
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
