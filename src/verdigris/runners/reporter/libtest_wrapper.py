"""Runs one Rust test binary: lists its tests, runs those that were asked for, and keeps the output.

Cargo starts it as a target's `runner`. It uses the standard library only, and the modules in its own folder.
"""

# ruff: noqa: PTH108, PTH109, PTH110, PTH113, PTH118, PTH120, PTH123 - one start per binary; pathlib would be half of it
from __future__ import annotations

import json
import os
import os.path as paths
import re
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verdigris.runners.reporter.watched_process import WatchedClock

SETTINGS = "VERDIGRIS_LIBTEST"
ALONE = "main"
"""The name of the only test of a binary that cannot list tests (`harness = false`)."""
_LISTED = re.compile(r"(.+): (test|benchmark)")
_COUNTED = re.compile(r"\d+ tests?, \d+ benchmarks?")
_PANICKED = re.compile(r" panicked at (.+):(\d+):(\d+):$", re.MULTILINE)
_FAILED = 101
_JSON = ("--format", "json", "-Zunstable-options", "--report-time")
_SHOWN = 80


def main(arguments: Sequence[str]) -> int:
    settings = json.loads(os.environ.pop(SETTINGS))
    executable, *asked = [paths.join(os.getcwd(), arguments[0]), *arguments[1:]]
    worktree = paths.realpath(settings["worktree"])
    base, files = _sources(executable, worktree)
    for path in settings.get("withheld", ()):  # the binary is compiled: its tests must not read them
        os.truncate(paths.join(worktree, path), 0)
    limit = settings.get("limit")
    tests = _list_tests(executable, limit) if _may_hold(base, files, worktree, asked) else []
    ids = {name: _test_id(name, base, files, worktree) for name in ([ALONE] if tests is None else tests)}
    chosen = [name for name in ids if not asked or _is_asked(ids[name], asked)]
    place = paths.join(settings["folder"], os.urandom(8).hex())
    head = {
        "executable": executable,
        "base": paths.relpath(base, worktree),
        "cwd": paths.relpath(os.getcwd(), worktree),
        "ids": ids,
        "chosen": chosen,
        "alone": tests is None,
    }
    _write_json(f"{place}.head", head)
    if settings["list"] or not chosen:
        return 0
    options = [*settings["options"]] if tests is None else [*settings["options"], *_JSON]
    from watched_process import WatchedClock  # type: ignore[import-not-found]

    clock = WatchedClock(limit)
    stops: dict[str, tuple[float | None, str]] = {}
    while True:
        left = [name for name in chosen if name not in stops]
        names = ["--exact", *left] if tests is not None and len(left) < len(ids) else []
        heard = _BinaryOutput(f"{place}.out", clock, alone=tests is None)
        status = _run([executable, *options, *names], heard.take, clock.due, heard.stop)
        heard.out.close()
        if heard.stopped is None:
            break
        only = [] if tests is None else ["--exact", heard.stopped]
        stack = _rerun_for_stack([executable, *settings["options"], *only], place, clock.seconds or _WAIT)
        stops[heard.stopped] = (clock.seconds, stack)
        clock.restart()
        if len(stops) == len(chosen):
            break
    if paths.exists(f"{place}.so"):
        os.unlink(f"{place}.so")
    code = os.waitstatus_to_exitcode(status)
    end = {"code": code, "texts": _texts(f"{place}.out", base), "stops": stops}
    _write_json(f"{place}.end", end)
    return _FAILED if stops or code < 0 else code


def _rerun_for_stack(command: list[str], place: str, seconds: float) -> str:
    """Runs a test that does not end once more, and returns its stack; empty if the program cannot say.

    A native program does not know its own stack. So a library is loaded into this run that prints it; the
    toolchain of the tests compiles that library (`rust_backtrace.rs`).
    """
    library, told = f"{place}.so", f"{place}.stack"
    if not paths.exists(library) and not _compile_backtrace(library):
        return ""
    ends = time.monotonic() + min(seconds, _WAIT)
    loaded = {"LD_PRELOAD": library, "VERDIGRIS_BACKTRACE": told}
    _run(command, len, lambda: ends, lambda process: _ask_threads(process, told), loaded)
    text = _read(told)
    if text:
        os.unlink(told)  # the next test that does not end writes its own
    return text


def _compile_backtrace(library: str) -> bool:
    source = paths.join(paths.dirname(__file__), "rust_backtrace.rs")
    compiler = paths.join(paths.dirname(os.environ.get("CARGO", "")), "rustc")
    options = ["--edition=2021", "--crate-type=cdylib", "-Cpanic=abort", "-o", library, source]
    return paths.isfile(compiler) and not _run([compiler, *options], len)


def _ask_threads(process: int, told: str) -> None:
    """Has every thread write its stack, and kills the process. The stacks show which thread is the test's."""
    from watched_process import signal_threads

    threads = signal_threads(process, signal.SIGUSR2)
    heard = time.monotonic()
    ends, size = heard + _TELLING, 0
    while (now := time.monotonic()) < ends:
        time.sleep(_TICK)
        text = _read(told)
        if text.endswith("\n\n") and text.split("\n").count(_THREAD) >= threads:
            break
        if len(text) != size:
            size, heard = len(text), now
        elif size and now - heard > _SILENT:  # a thread may hear no signal
            break
    os.kill(process, signal.SIGKILL)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""


_WAIT = 10.0
"""Seconds after which a test that is known to hang has reached the place where it hangs."""
_TELLING, _SILENT, _TICK = 3.0, 0.5, 0.02
"""Seconds: in which threads may write their stacks; of silence that ends the wait; between two looks."""
_THREAD = "thread"
"""The first line of each stack, as `rust_backtrace.rs` writes it."""
_MOST = 1 << 20
"""The most characters of the stacks that are kept."""


class _BinaryOutput:
    """The output of one run of the binary: it is kept, and shows which tests run.

    The binary is stopped when a test does not end. Then its results for other tests do not count: they run
    again.
    """

    def __init__(self, place: str, clock: WatchedClock, *, alone: bool) -> None:
        self.out = open(place, "wb", buffering=0)  # noqa: SIM115 - closed with the run
        self.clock = clock
        self.rest = b""
        self.stopped: str | None = None
        if alone:
            clock.begin(ALONE)

    def take(self, data: bytes) -> None:
        self.out.write(data)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            event = _event(line)
            name = event.get("name") if event.get("type") == "test" else None
            if isinstance(name, str) and event.get("event") == "started":
                self.clock.begin(name)
            elif isinstance(name, str) and event.get("event") != "timeout":
                self.clock.end(name)

    def stop(self, process: int) -> None:
        self.stopped = self.clock.oldest()
        os.kill(process, signal.SIGKILL)


def _event(line: bytes | str) -> dict[str, object]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def holder(name: str, root: str, files: Iterable[str]) -> str:
    """The file that contains a test: of the innermost module in its name that has a file of its own.

    `root`: the file of the crate itself.
    """
    known = frozenset(files)
    modules = [module.removeprefix("r#") for module in name.split("::")[:-1]]
    folder = paths.dirname(root)
    for depth in range(len(modules), 0, -1):
        stem = paths.join(folder, *modules[:depth])
        for path in (f"{stem}.rs", f"{stem}/mod.rs"):
            if path in known:
                return path
    return root


def _test_id(name: str, base: str, files: Sequence[str], worktree: str) -> str:
    path = paths.normpath(paths.join(base, holder(name, files[0], files)))
    within = path.startswith(worktree + "/")
    return f"{paths.relpath(path, worktree) if within else path}::{name}"


def _is_asked(test_id: str, asked: Iterable[str]) -> bool:
    path = test_id[: test_id.index(".rs::") + len(".rs")] if ".rs::" in test_id else test_id
    return any(a in {test_id, path, ".", ""} or path.startswith(a.rstrip("/") + "/") for a in asked)


def _may_hold(base: str, files: Iterable[str], worktree: str, asked: Sequence[str]) -> bool:
    """Whether the binary may have a test that was asked for.

    Starting it to find out costs more than a short test.
    """
    held = [_test_id("", base, [file], worktree) for file in files]
    return not asked or any(
        _is_asked(one, [name.partition(".rs::")[0] + ".rs", name]) for one in held for name in asked
    )


def _sources(executable: str, worktree: str) -> tuple[str, list[str]]:
    """The folder in which the compiler ran, and the files that it read; the first is the crate's root."""
    with open(f"{executable}.d", encoding="utf-8", errors="surrogateescape") as told:
        line = told.readline().rstrip("\n").partition(".d: ")[2]
    files = [name.replace("\\ ", " ") for name in re.split(r"(?<!\\) ", line)]
    base = os.getcwd()
    while not paths.isfile(paths.join(base, files[0])) and base.startswith(worktree + "/"):
        base = paths.dirname(base)
    return base, files


def _list_tests(executable: str, limit: float | None) -> list[str] | None:
    """The tests of a binary; None for a binary that cannot list them and is itself the test."""
    said = bytearray()
    ends = None if limit is None else time.monotonic() + limit
    code = os.waitstatus_to_exitcode(_run([executable, "--list"], said.extend, lambda: ends))
    lines = said.decode("utf-8", "replace").rstrip("\n").split("\n")
    counted = _COUNTED.fullmatch(lines[-1])
    found = [_LISTED.fullmatch(line) for line in lines if line and not _COUNTED.fullmatch(line)]
    if code or not all(found) or not (found or counted):
        return None
    return [one[1] for one in found if one and one[2] == "test"]


def _run(
    command: list[str],
    hear: Callable[[bytes], object],
    due: Callable[[], float | None] = lambda: None,
    stop: Callable[[int], object] = lambda process: os.kill(process, signal.SIGKILL),
    more: Mapping[str, str] | None = None,
) -> int:
    # This variable allows libtest's JSON on a stable toolchain. It has no effect on what is compiled already.
    environment = {
        **os.environ,
        "RUSTC_BOOTSTRAP": "1",
        "RUST_BACKTRACE": "1",
        "RUST_LIB_BACKTRACE": "0",
        **(more or {}),
    }
    from watched_process import run_watched

    return int(run_watched(command, hear, environment=environment, due=due, stop=stop))


def _texts(out: str, base: str) -> dict[str, str]:
    """The source text at each panic of a test: an `assert!` with a message prints only the message."""
    texts: dict[str, str] = {}
    with open(out, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            for path, row, column in _PANICKED.findall(_stdout(line)):
                texts[f"{path}:{row}:{column}"] = _text(paths.join(base, path), int(row), int(column))
    return texts


def _stdout(line: str) -> str:
    return str(_event(line).get("stdout", ""))


def _text(path: str, row: int, column: int) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as source:
            line = source.read().split("\n")[row - 1]
    except (OSError, IndexError):
        return ""
    return line[column - 1 :][:_SHOWN]


def _write_json(path: str, what: object) -> None:
    with open(path, "x", encoding="ascii") as file:
        json.dump(what, file)


if __name__ == "__main__":
    sys.path.insert(0, paths.dirname(__file__))
    sys.exit(main(sys.argv[1:]))
