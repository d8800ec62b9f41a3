"""Reads what Rust's test binaries and doc tests print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestResult
from verdigris.core.value import field, replace, value
from verdigris.runners.protocol import (
    CONTRADICTION,
    OUTPUT,
    TWICE,
    is_asked,
    read_record,
    relative,
    stopped_result,
    unfinished_failure,
    untrusted_result,
)

_FAILED = 101
_PANIC = re.compile(r"^thread '(.*)' (?:\(\d+\) )?panicked at (.+):(\d+):(\d+):\n", re.MULTILINE)
_FRAME = re.compile(r"^ +\d+: (.+)\n +at (.+?):(\d+)(?::\d+)?$", re.MULTILINE)
_STACK = "\nstack backtrace:\n"
_ASSERTS = re.compile(r"(?:[\w:]*::)?(?:debug_|prop_)?assert\w*!")
_ASSERTED = re.compile(r"assertion\b.*\bfailed|snapshot assertion|Test failed: assertion", re.DOTALL)
_CALM = re.compile(r" at (.+):(\d+):\d+$")
_MACRO = re.compile(r"(?:\w+::)*(\w+!)")


@value
class Binary:
    """One run of one test binary, as our wrapper recorded it."""

    ids: Mapping[str, str]
    """The id of each test in the binary, by libtest's name."""
    chosen: tuple[str, ...]
    base: str
    """The folder in which the compiler ran, relative to the worktree."""
    cwd: str
    alone: bool = False
    """The binary as a whole is one test (`harness = false`)."""
    out: bytes | None = None
    """The output; None if the tests were only listed."""
    code: int | None = None
    """The exit code; negative for a signal, None if its end was not seen."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The source text at each `path:line:column` at which a test panicked."""
    stops: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Tests that did not end: after how many seconds each was stopped, and the stacks of its threads.

    The other tests ran without them.
    """


@value
class BinaryResults:
    results: tuple[TestResult, ...] = ()
    whole: bool = True
    """Every chosen test was reported."""
    strays: int = 0


def read_binary(binary: Binary, worktree: str, ended: RunEnd) -> BinaryResults:
    """Reads the results. `ended`: the end of the whole run, for tests whose own end was not seen."""
    if binary.out is None:
        return BinaryResults()
    stopped = tuple(_stopped_result(binary, name, worktree) for name in binary.stops)
    left = replace(binary, chosen=tuple(name for name in binary.chosen if name not in binary.stops))
    if not left.chosen:
        return BinaryResults(stopped)
    heard = _read_alone(left, ended) if binary.alone else _read_events(left, worktree, ended)
    return replace(heard, results=(*stopped, *heard.results))


def _stopped_result(binary: Binary, name: str, worktree: str) -> TestResult:
    seconds, dump = binary.stops[name]
    called = re.compile(rf"(?:::| ){re.escape(name)}(?:::{{{{closure}}}})?$", re.MULTILINE)
    stack = next((thread for thread in dump.split("thread\n") if called.search(thread)), "")
    return stopped_result(binary.ids[name], seconds, _project_frames(binary, name, stack, worktree))


def _read_alone(binary: Binary, ended: RunEnd) -> BinaryResults:
    [test_id] = binary.ids.values()
    output = (binary.out or b"").decode("utf-8", "replace")[-OUTPUT:]
    if binary.code is None or binary.code < 0:
        return BinaryResults(
            (untrusted_result(test_id, unfinished_failure(ended), output=output),), whole=False
        )
    failure = (
        Failure("exit", assertion=False, message=f"it exited with {binary.code}") if binary.code else None
    )
    status = Status.FAIL if failure else Status.PASS
    return BinaryResults((TestResult(test_id, test_id, "native", status, RunPhase.CALL, 0, failure, output),))


def _read_events(binary: Binary, worktree: str, ended: RunEnd) -> BinaryResults:
    started: Counter[str] = Counter()
    over: dict[str, list[Mapping[str, Any]]] = {}
    suites: list[Mapping[str, Any]] = []
    strays = 0
    for line in filter(None, (binary.out or b"").decode("utf-8", "replace").split("\n")):
        event = read_record(line)
        match event:
            case {"type": "suite"}:
                suites.append(event)
            case {"type": "test", "event": "timeout"}:
                continue
            case {"type": "test", "event": kind, "name": str(name)} if name in binary.chosen:
                if kind == "started":
                    started[name] += 1
                else:
                    over.setdefault(name, []).append(event)
            case _:
                strays += 1
    results: list[TestResult] = []
    for name in binary.chosen:
        test_id, ends = binary.ids[name], over.get(name, [])
        if started[name] > 1 or len(ends) > 1:
            results.append(untrusted_result(test_id, TWICE))
        elif ends:
            results.append(_result(binary, name, ends[0], worktree))
        elif started[name]:
            results.append(untrusted_result(test_id, unfinished_failure(ended)))
    whole = len(over) == len(binary.chosen)
    if whole and not _agrees(binary, suites, results):
        results = [_doubt(result) for result in results]
    return BinaryResults(tuple(results), whole, strays)


def _agrees(binary: Binary, suites: Sequence[Mapping[str, Any]], results: Sequence[TestResult]) -> bool:
    """Whether the suite's start and end, its counts and the exit code agree with the results of its tests."""
    if [suite.get("event") for suite in suites[:1]] != ["started"] or len(suites) != 2:  # noqa: PLR2004 - a start and an end
        return False
    counts = Counter(result.status for result in results)
    failed = counts[Status.FAIL] + counts[Status.ERROR]
    first, last = suites
    return (
        first.get("test_count") == len(binary.chosen)
        and (last.get("passed"), last.get("failed"), last.get("ignored"))
        == (counts[Status.PASS], failed, counts[Status.SKIP])
        and (last.get("event"), binary.code) == (("failed", _FAILED) if failed else ("ok", 0))
    )


def _doubt(result: TestResult) -> TestResult:
    if result.status is not Status.PASS:
        return result
    return replace(result, status=Status.ERROR, failure=CONTRADICTION)


def _result(binary: Binary, name: str, event: Mapping[str, Any], worktree: str) -> TestResult:
    test_id = binary.ids[name]
    output, message = str(event.get("stdout", "")), str(event.get("message", ""))
    status = {"ok": Status.PASS, "ignored": Status.SKIP}.get(str(event["event"]), Status.FAIL)
    failure = None
    if status is Status.FAIL:
        failure = _failure(binary, name, output, message, worktree)
    return TestResult(
        id=test_id,
        native_id=test_id,
        id_source="native",
        status=status,
        phase=RunPhase.CALL,
        duration_ms=round(float(event.get("exec_time", 0)) * 1000),
        failure=failure,
        output=output[-OUTPUT:],
        note=message if status is Status.SKIP else "",
    )


def _failure(binary: Binary, name: str, output: str, message: str, worktree: str) -> Failure:
    panics = list(_PANIC.finditer(output))
    own = [panic for panic in panics if panic[1] == name]
    if not (own or panics):
        return _without_panic(binary, output, message, worktree)
    panic = (own or panics)[-1]
    said, _, stack = output[panic.end() :].partition(_STACK)
    place = Place(relative(panic[2], worktree, binary.base), int(panic[3]))
    text = binary.texts.get(f"{panic[2]}:{panic[3]}:{panic[4]}", "")
    kind, assertion = ("should_panic", True) if message else panic_kind(said, text)
    return Failure(
        kind=kind,
        assertion=assertion,
        message=message or said.rstrip(),
        place=place,
        frames=_frames(binary, name, stack, place, worktree),
    )


def _without_panic(binary: Binary, output: str, message: str, worktree: str) -> Failure:
    """The failure of a `should_panic` that did not panic, or of a test that returned an error."""
    if not message:
        return Failure("Err", assertion=False, message=output.strip())
    at = _CALM.search(message)
    place = Place(relative(at[1], worktree, binary.base), int(at[2])) if at else None
    return Failure(
        "should_panic", assertion=True, message=message, place=place, frames=(place,) if place else ()
    )


def panic_kind(message: str, text: str) -> tuple[str, bool]:
    """The kind of a panic, and whether it is an assertion. `text`: the source text where it happened."""
    if _ASSERTS.match(text) or _ASSERTED.match(message):
        return "assertion", True
    macro = _MACRO.match(text)
    return (macro[1] if macro else "panic"), False


def _frames(binary: Binary, name: str, stack: str, place: Place, worktree: str) -> tuple[Place, ...]:
    """The project's frames from the test's own down; without debug information the first and the last."""
    if frames := _project_frames(binary, name, stack, worktree):
        return frames
    own = binary.ids[name].partition("::")[0]
    return (place,) if own == place.path else (Place(own, 0), place)


def _project_frames(binary: Binary, name: str, stack: str, worktree: str) -> tuple[Place, ...]:
    frames = []
    for function, path, line in _FRAME.findall(stack):
        at = relative(path, worktree, binary.cwd)
        own = at.endswith(".rs") and not at.startswith("/")  # the C library has relative paths too
        if own and not function.endswith(f"{name}::{{{{closure}}}}"):
            frames.append(Place(at, int(line)))
    return tuple(reversed(frames))


_RUNNING = re.compile(r"^running (\d+) tests?$", re.MULTILINE)
_LINE = re.compile(r"^test (.+\(line \d+\).*?) \.\.\. (ok|FAILED|ignored(?:, .*)?)$", re.MULTILINE)
_RESULT = re.compile(
    r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out",
    re.MULTILINE,
)
_LISTED = re.compile(r"^(.+\(line \d+\).*): test$", re.MULTILINE)
_NAME = re.compile(r"(?P<path>.+?\.\w+) - (?P<item>.*)\(line (?P<line>\d+)\)(?P<kind>.*)")
_ID = re.compile(r".*\(doc \d+\)(?: - compile(?: fail)?)?")
_BLOCK_END = re.compile(r"\n---- .* stdout ----\n|\n\nfailures:\n")
_DOC_PANIC = re.compile(r"panicked at .+:\d+:\d+:\n")


def is_doc_id(test_id: str) -> bool:
    return "::" in test_id and _ID.fullmatch(test_id) is not None


def doc_ids(names: Iterable[str], worktree: str, folder: str) -> dict[str, str]:
    """Rustdoc's `src/lib.rs - add (line 5)` → `src/lib.rs::add (doc 1)`, counted within the item.

    Rustdoc's line changes with every edit above it, and the test would seem to be a new one.
    """
    matches = [match for name in dict.fromkeys(names) if (match := _NAME.fullmatch(name))]
    counted: Counter[tuple[str, str]] = Counter()
    ids = {}
    for match in sorted(matches, key=lambda match: int(match["line"])):
        counted[match["path"], match["item"]] += 1
        number = counted[match["path"], match["item"]]
        path = relative(match["path"], worktree, folder)
        ids[match.string] = f"{path}::{match['item']}(doc {number}){match['kind']}"
    return ids


def doc_listed(output: str, worktree: str, folder: str) -> list[str]:
    names = _LISTED.findall(output)
    ids = doc_ids(names, worktree, folder)
    return [ids.get(name, name) for name in names]


def doc_results(
    output: str, names: Sequence[str], *, worktree: str, folder: str, ended: RunEnd
) -> tuple[list[TestResult], list[str], bool]:
    """The results that were asked for, every id that ran, and whether each group came to its end."""
    results: list[TestResult] = []
    others: list[str] = []
    whole = True
    ids = doc_ids((name for name, _ in _LINE.findall(output)), worktree, folder)
    for group in _groups(output):
        announced, closing = _RUNNING.match(group), _RESULT.findall(group)
        lines = _LINE.findall(group[: group.find("\nfailures:\n")] if "\nfailures:\n" in group else group)
        counts = Counter(name for name, _ in lines)
        finished = bool(closing) and announced is not None and int(announced[1]) == len(lines)
        whole = whole and bool(closing)
        agrees = finished and len(closing) == 1 and _counts(lines) == tuple(map(int, closing[0][1:]))
        for name, word in lines:
            test_id = ids.get(name, name)
            if not is_asked(test_id, test_id.partition("::")[0], names):
                others.append(test_id)
            elif counts[name] > 1:
                results.append(untrusted_result(test_id, TWICE))
            elif not agrees and word == "ok":
                results.append(
                    untrusted_result(test_id, CONTRADICTION if closing else unfinished_failure(ended))
                )
            else:
                results.append(_doc_result(test_id, word, _output_of(group, name), _line(name)))
    return results, others, whole


def _groups(output: str) -> Iterator[str]:
    starts = [match.start() for match in _RUNNING.finditer(output)]
    for start, end in zip(starts, [*starts[1:], len(output)], strict=False):
        yield output[start:end]


def _counts(lines: Sequence[tuple[str, str]]) -> tuple[int, int, int]:
    words = [word for _, word in lines]
    return words.count("ok"), words.count("FAILED"), sum(word.startswith("ignored") for word in words)


def _output_of(group: str, name: str) -> str:
    return _BLOCK_END.split(group.partition(f"\n---- {name} stdout ----\n")[2], maxsplit=1)[0]


def _line(name: str) -> int:
    match = _NAME.fullmatch(name)
    return int(match["line"]) if match else 0


def _doc_result(test_id: str, word: str, message: str, line: int) -> TestResult:
    status = {"ok": Status.PASS, "FAILED": Status.FAIL}.get(word, Status.SKIP)
    failure = None
    if status is Status.FAIL:
        failure = _doc_failure(message, Place(test_id.partition("::")[0], line))
        status = Status.ERROR if failure.kind == "compile" else status
    return TestResult(
        id=test_id,
        native_id=test_id,
        id_source="native",
        status=status,
        phase=RunPhase.COLLECT if status is Status.ERROR else RunPhase.CALL,
        duration_ms=0,
        failure=failure,
        output=message[-OUTPUT:],
        line=line,
        note=word.partition(", ")[2],
    )


def _doc_failure(said: str, place: Place) -> Failure:
    """The failure of a doc test.

    Its place is that of the code block: rustdoc compiles a copy outside the project.
    """
    panic = _DOC_PANIC.search(said)
    if panic:
        message = said[panic.end() :].partition("\nstack backtrace:")[0].strip()
        kind, assertion = panic_kind(message, "")
        return Failure(kind, assertion, message, place, (place,))
    if "Test compiled successfully, but it's marked `compile_fail`" in said:
        return Failure("compile_fail", assertion=True, message=said.strip(), place=place, frames=(place,))
    kind = "compile" if "Couldn't compile the test" in said else "exit"
    return Failure(kind, assertion=False, message=said.strip(), place=place, frames=(place,))
