"""A third party's runner in one module: a tool that compares lines, and the facts that the kernel needs.

A test file (`.exs`) has lines such as `adds: 1 + 2 = 3`; the source (`lib/signs`) names the signs that are
understood. The tool prints one line for each test, and `done` at its end.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING

from verdigris.core.report import Failure, Place, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.core.value import value
from verdigris.runners.protocol import RunnerAnswer, RunnerCall, TestRequest, Toolset, is_asked, tail
from verdigris.runners.registry import RunnerKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack

TOOL = """\
import pathlib, sys
signs = pathlib.Path("lib/signs.ex").read_text().split()
for path in sorted(pathlib.Path("test").rglob("*_test.exs")):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        name, _, rest = line.partition(":")
        a, sign, b, _, wanted = rest.split()
        got = {"+": int(a) + int(b), "-": int(a) - int(b)}[sign] if sign in signs else "?"
        word = "ok" if str(got) == wanted else "failed"
        print(f"{word} {path}:{number}:{name}: {got} instead of {wanted}")
print("done")
"""
_LINE = re.compile(r"(ok|failed) ([^:]+):(\d+):([^:]+): (.*)")


@value
class LineRunner:
    interpreter: str = sys.executable

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        command = shlex.join(["lines", *request.extra, *request.names])
        return (RunnerCall((self.interpreter, "-c", TOOL), request.folder, command),)

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        [answer] = answers
        lines = answer.output.decode().splitlines()
        found = tuple(_results(lines))
        mine = tuple(r for r in found if is_asked(r.id, r.id.partition("::")[0], request.names))
        ended = RunEnd.FINISHED if lines[-1:] == ["done"] else RunEnd.EARLY_EXIT
        ended = RunEnd.DIED if answer.exit_code is None else ended
        return TestReport(
            command=answer.call.command,
            ended=RunEnd.TIMEOUT if answer.timed_out else ended,
            exit_code=answer.exit_code,
            duration_ms=answer.duration_ms,
            results=mine,
            collected=tuple(result.id for result in mine),
            others=tuple(result.id for result in found if result not in mine),
            tail=tail(answers),
        )


def _results(lines: list[str]) -> Iterator[TestResult]:
    for found in filter(None, map(_LINE.fullmatch, lines)):
        word, path, line, name, message = found.groups()
        place = Place(path, int(line))
        failure = Failure("Different", assertion=True, message=message, place=place, frames=(place,))
        test_id = f"{path}::{name}"
        passed = word == "ok"
        yield TestResult(
            id=test_id,
            native_id=test_id,
            id_source="native",
            status=Status.PASS if passed else Status.FAIL,
            phase=RunPhase.CALL,
            duration_ms=1,
            failure=None if passed else failure,
            line=int(line),
        )


def find(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    return Toolset(LineRunner(), (sys.executable, f"{sys.prefix}/.", f"{sys.base_prefix}/."))


KIND = RunnerKind("lines", languages=("elixir",), find=find)
