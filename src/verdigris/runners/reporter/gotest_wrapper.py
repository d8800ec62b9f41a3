"""Runs the test binary of one Go package: records which file has which test, and selects tests.

`go test` starts it by `-exec`. It becomes the binary (`exec`), so that output and exit are the binary's own.
If tests have a time limit, it watches the binary instead, passes on its output, and ends in the same way.
"""

# ruff: noqa: PTH109, PTH113, PTH118, PTH120, PTH123, PTH208 - one start per package; pathlib would be half of it
from __future__ import annotations

import json
import os
import os.path as paths
import re
import sys

TYPE_CHECKING = False  # importing typing would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from verdigris.runners.reporter.watched_process import WatchedClock

SETTINGS = "VERDIGRIS_GOTEST"
MARK = "--verdigris-select"
"""The arguments after this one are names of tests for us, not for the binary."""
_FUNCTION = re.compile(r"^func ((?!TestMain\()(?:Test|Example|Fuzz)(?![a-z])\w*)\(", re.MULTILINE)
_OUTPUT = re.compile(r"^\s*(?://|/\*)\s*(?:unordered )?output:", re.IGNORECASE | re.MULTILINE)
_MODULE = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


def main(arguments: Sequence[str]) -> None:
    settings = json.loads(os.environ.pop(SETTINGS))
    own, asked = _split_arguments(arguments)
    folder = paths.relpath(os.getcwd(), paths.realpath(settings["worktree"]))
    tests = {name: (paths.normpath(paths.join(folder, file)), line) for name, file, line in _declared_tests()}
    chosen = choose_tests(tests, asked, folder) if asked else None
    package = _package()
    record = {"package": package, "folder": folder, "tests": tests, "chosen": chosen}
    with open(paths.join(settings["folder"], f"{os.urandom(8).hex()}.go"), "x", encoding="ascii") as file:
        json.dump(record, file)
    for path in settings.get("withheld", ()):  # the binary is compiled: its tests must not read them
        os.truncate(paths.join(settings["worktree"], path), 0)
    if settings["list"] or chosen == []:
        return
    command = own if chosen is None else _select_tests(own, chosen)
    if settings.get("limit") is None:
        os.execv(command[0], command)  # noqa: S606 - that is what `-exec` asks for
    _watch(own, command, list(tests) if chosen is None else chosen, settings, package)


def _select_tests(own: Sequence[str], names: Sequence[str]) -> list[str]:
    flags = next((i for i, one in enumerate(own[1:], 1) if not one.startswith("-test.")), len(own))
    return [*own[:flags], f"-test.run={pattern(names)}", *own[flags:]]


def _watch(
    own: Sequence[str],
    command: list[str],
    names: Sequence[str],
    settings: Mapping[str, Any],
    package: str,
) -> None:
    """Runs the binary, and stops it when a test does not end.

    Then its results for other tests do not count, and those tests run again without the stopped one.
    """
    from watched_process import WatchedClock, die_like, quit_in_busiest_thread, run_watched  # type: ignore[import-not-found]

    clock = WatchedClock(settings["limit"])
    stops: list[dict[str, object]] = []
    left = list(names)
    while True:
        heard = _PackageOutput(clock)
        stop = heard.stop_with(quit_in_busiest_thread)
        status = run_watched(command, heard.take, outputs=(1, 2), due=clock.due, stop=stop)
        if heard.stopped is not None:
            told = {"test": heard.stopped, "seconds": clock.seconds, "void": sorted(clock.begun)}
            stops.append({**told, "stack": heard.stack.decode("utf-8", "replace")})
            left = [name for name in left if _top(name) != _top(str(heard.stopped))]
            clock.restart()
        if heard.stopped is None or not left:
            break
        command = _select_tests([word for word in own if not word.startswith("-test.run=")], left)
    code = os.waitstatus_to_exitcode(status) if heard.stopped is None else 0
    if stops:
        place = paths.join(settings["folder"], f"{os.urandom(8).hex()}.stops")
        with open(place, "x", encoding="ascii") as file:
            json.dump({"package": package, "stops": stops, "code": code}, file)
    if code < 0:
        die_like(-code)
    sys.exit(code or int(bool(stops)))


class _PackageOutput:
    """The output of one run of the binary: it is passed on, and shows which tests run."""

    def __init__(self, clock: WatchedClock) -> None:
        self.clock = clock
        self.rest = b""
        self.stopped: str | None = None
        self.stack = b""

    def take(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += os.write(1, data[written:])
        if self.stopped is not None:
            self.stack += data[: _MOST - len(self.stack)]
            return
        lines, _, self.rest = (self.rest + data).rpartition(b"\n")
        for found in _SAID.finditer(lines):
            word, name, ended = (part.decode("utf-8", "replace") if part else "" for part in found.groups())
            if ended:
                self.clock.end(ended)
            elif word == "PAUSE":
                self.clock.pause(name)
            else:
                self.clock.begin(name)

    def stop_with(self, stop: Callable[[int], None]) -> Callable[[int], None]:
        def note_and_stop(process: int) -> None:
            self.stopped = self.clock.oldest()
            stop(process)

        return note_and_stop


_MOST = 1 << 20
"""The most bytes of a stack that are kept."""
_SAID = re.compile(
    rb"(?:^ *|\x16)(?:=== (RUN|PAUSE|CONT) +(\S+)|--- (?:PASS|FAIL|SKIP): (\S+) \()", re.MULTILINE
)


def _top(name: str) -> str:
    return name.partition("/")[0]


def pattern(names: Sequence[str]) -> str:
    """A pattern for `-test.run` that matches these tests only. Go matches it level by level."""
    return "|".join("/".join(f"^{_META.sub(_ESCAPED, level)}$" for level in n.split("/")) for n in names)


_ESCAPED = r"\\\1"


def choose_tests(tests: Mapping[str, tuple[str, int]], asked: Sequence[str], folder: str) -> list[str]:
    """The names of the tests, with subtests, that were asked for and are in this package."""
    found: dict[str, None] = {}
    for one in asked:
        path, marked, name = one.partition(".go::")
        path = paths.normpath(path + ".go" if marked else one)
        if marked:
            if tests.get(name.partition("/")[0], ("", 0))[0] == path:
                found[name] = None
        else:
            within = path in {".", folder} or folder.startswith(path + "/")
            found |= {test: None for test, (file, _) in tests.items() if within or file == path}
    return list(found)


def _split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    own = list(arguments)
    if MARK not in own:
        return own, []
    at = len(own) - 1 - own[::-1].index(MARK)
    return own[:at], own[at + 1 :]


def _declared_tests() -> Iterator[tuple[str, str, int]]:
    for file in sorted(os.listdir(".")):
        if file.endswith("_test.go") and paths.isfile(file):
            with open(file, encoding="utf-8", errors="replace", newline="") as opened:
                text = opened.read()
            for found in _FUNCTION.finditer(text):
                body = text[found.end() : text.find("\n}", found.end())]
                # An example without expected output is only compiled.
                if not found[1].startswith("Example") or _OUTPUT.search(body):
                    yield found[1], file, text.count("\n", 0, found.start()) + 1


def _package() -> str:
    """The import path of the package; empty outside a module."""
    here = folder = os.getcwd()
    while not paths.isfile(paths.join(folder, "go.mod")):
        if paths.dirname(folder) == folder:
            return ""
        folder = paths.dirname(folder)
    with open(paths.join(folder, "go.mod"), encoding="utf-8", errors="replace") as told:
        module = _MODULE.search(told.read())
    inner = paths.relpath(here, folder)
    name = module[1] if module else ""
    return name if inner == "." else f"{name}/{inner}"


if __name__ == "__main__":
    sys.path.insert(0, paths.dirname(__file__))
    main(sys.argv[1:])
