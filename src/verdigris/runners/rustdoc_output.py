"""Reads what Rust's doc tests print."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestResult
from verdigris.runners.libtest_output import panic_kind
from verdigris.runners.protocol import (
    CONTRADICTION,
    OUTPUT,
    TWICE,
    is_asked,
    relative,
    unfinished_failure,
    untrusted_result,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


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

    A line would be another one after every edit above it, and the test would seem to be gone.
    """
    found = [told for name in dict.fromkeys(names) if (told := _NAME.fullmatch(name))]
    counted: Counter[tuple[str, str]] = Counter()
    ids = {}
    for told in sorted(found, key=lambda told: int(told["line"])):
        counted[told["path"], told["item"]] += 1
        number = counted[told["path"], told["item"]]
        path = relative(told["path"], worktree, folder)
        ids[told.string] = f"{path}::{told['item']}(doc {number}){told['kind']}"
    return ids


def doc_listed(output: str, worktree: str, folder: str) -> list[str]:
    names = _LISTED.findall(output)
    ids = doc_ids(names, worktree, folder)
    return [ids.get(name, name) for name in names]


def doc_results(
    output: str, names: Sequence[str], *, worktree: str, folder: str, ended: RunEnd
) -> tuple[list[TestResult], list[str], bool]:
    """The results asked for, every id that ran, and whether each group came to its end."""
    results: list[TestResult] = []
    others: list[str] = []
    whole = True
    ids = doc_ids((name for name, _ in _LINE.findall(output)), worktree, folder)
    for group in _groups(output):
        announced, closing = _RUNNING.match(group), _RESULT.findall(group)
        lines = _LINE.findall(group[: group.find("\nfailures:\n")] if "\nfailures:\n" in group else group)
        told = Counter(name for name, _ in lines)
        finished = bool(closing) and announced is not None and int(announced[1]) == len(lines)
        whole = whole and bool(closing)
        agrees = finished and len(closing) == 1 and _counts(lines) == tuple(map(int, closing[0][1:]))
        for name, word in lines:
            test_id = ids.get(name, name)
            if not is_asked(test_id, test_id.partition("::")[0], names):
                others.append(test_id)
            elif told[name] > 1:
                results.append(untrusted_result(test_id, TWICE))
            elif not agrees and word == "ok":
                results.append(
                    untrusted_result(test_id, CONTRADICTION if closing else unfinished_failure(ended))
                )
            else:
                results.append(_doc_result(test_id, word, _output_of(group, name), _line(name)))
    return results, others, whole


def _groups(output: str) -> Iterator[str]:
    starts = [found.start() for found in _RUNNING.finditer(output)]
    for start, end in zip(starts, [*starts[1:], len(output)], strict=False):
        yield output[start:end]


def _counts(lines: Sequence[tuple[str, str]]) -> tuple[int, int, int]:
    words = [word for _, word in lines]
    return words.count("ok"), words.count("FAILED"), sum(word.startswith("ignored") for word in words)


def _output_of(group: str, name: str) -> str:
    return _BLOCK_END.split(group.partition(f"\n---- {name} stdout ----\n")[2], maxsplit=1)[0]


def _line(name: str) -> int:
    told = _NAME.fullmatch(name)
    return int(told["line"]) if told else 0


def _doc_result(test_id: str, word: str, said: str, line: int) -> TestResult:
    status = {"ok": Status.PASS, "FAILED": Status.FAIL}.get(word, Status.SKIP)
    failure = None
    if status is Status.FAIL:
        failure = _doc_failure(said, Place(test_id.partition("::")[0], line))
        status = Status.ERROR if failure.kind == "compile" else status
    return TestResult(
        id=test_id,
        native_id=test_id,
        id_source="native",
        status=status,
        phase=RunPhase.COLLECT if status is Status.ERROR else RunPhase.CALL,
        duration_ms=0,
        failure=failure,
        output=said[-OUTPUT:],
        line=line,
        note=word.partition(", ")[2],
    )


def _doc_failure(said: str, place: Place) -> Failure:
    """The place is the block's: where rustdoc put its text is no file of the project."""
    panic = _DOC_PANIC.search(said)
    if panic:
        message = said[panic.end() :].partition("\nstack backtrace:")[0].strip()
        kind, assertion = panic_kind(message, "")
        return Failure(kind, assertion, message, place, (place,))
    if "Test compiled successfully, but it's marked `compile_fail`" in said:
        return Failure("compile_fail", assertion=True, message=said.strip(), place=place, frames=(place,))
    kind = "compile" if "Couldn't compile the test" in said else "exit"
    return Failure(kind, assertion=False, message=said.strip(), place=place, frames=(place,))
