"""What recorded runs say, as pages with a line for each test: `recorded/TOOL.txt`, and `reds.txt`.

`=== RECORDING` stands above each. Whoever changes how a report is read looks at the difference, and changes
the page where it is right.
"""

from __future__ import annotations

from support.pages import sections
from support.recordings import HERE
from verdigris.core.report import TestReport, TestResult


def pages(name: str) -> dict[str, str]:
    """The text for each recording."""
    text = (HERE / f"{name}.txt").read_text("utf-8")
    return {recording: lines.strip() for recording, lines in sections(text, "===")}


def outline(report: TestReport, *, messages: bool = True) -> str:
    """A line for each error and each test. Versions of a tool may differ in messages and lines."""
    lines = [
        f"{error.path or 'no file'}: {error.kind}" + _first_line(error.message) * messages
        for error in report.errors
    ]
    lines += [f"{result.native_id}: {_outline(result, messages=messages)}" for result in report.results]
    head = f"{report.ended}, exit code {report.exit_code}, strays {report.strays}"
    return "\n".join([head, *sorted(lines)])


def _outline(result: TestResult, *, messages: bool) -> str:
    """Status, line, phase unless it is the call, note, kind with `!` for an assertion, frames, message."""
    line = f" in line {result.line}" if result.line and messages else ""
    phase = "" if result.phase == "call" else f" in {result.phase}"
    note = f" ({result.note})" if result.note else ""
    failure = result.failure
    if failure is None:
        return f"{result.status}{line}{phase}{note}"
    frames = "".join(f" {frame.path}:{frame.line}" for frame in failure.frames)
    assert failure.place == (failure.frames[-1] if failure.frames else None)
    kind = failure.kind + "!" * failure.assertion
    return f"{result.status}{line}{phase}{note} {kind}{frames}" + _first_line(failure.message) * messages


def _first_line(message: str) -> str:
    first = message.strip().partition("\n")[0]
    return f": {first.strip()}"
