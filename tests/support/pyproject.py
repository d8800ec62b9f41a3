"""Tiny real Python projects, and functions that run them as the kernel does."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.prepared_python import DECLINED, start_prepared
from verdigris.execution.process import Command, Finished, run
from verdigris.runners.protocol import ReportChannel, Runner, RunnerAnswer, TestRequest
from verdigris.runners.python import PYTEST, PythonRunner, PythonTool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from verdigris.core.report import TestReport

NONCE = "5f0c"


@dataclass(frozen=True, slots=True)
class PyProject:
    root: Path
    python: str = sys.executable
    tool: PythonTool = PYTEST

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text), encoding="utf-8")

    def execute(
        self,
        *selection: str,
        extra: Sequence[str] = (),
        stack_root: str = ".",
        trace: Sequence[str] = (),
        collect_only: bool = False,
        timeout: float = 60,
        env: Mapping[str, str] | None = None,
        disposable: bool = False,
        cold: bool = False,
        **variants: Any,
    ) -> tuple[Finished, TestReport]:
        """`cold`: in an interpreter that starts for this run."""
        cache = tempfile.TemporaryDirectory()
        runner = PythonRunner(self.tool, self.python)
        request = TestRequest(
            selection,
            str(self.root),
            stack_root,
            cache.name,
            extra=tuple(extra),
            collect_only=collect_only,
            trace=tuple(trace),
            nonce=NONCE,
            private=() if disposable else None,
            **variants,
        )
        [call] = runner.commands(request)
        channel = channel_of(runner, request)
        bare = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "COV"))}
        full = {**bare, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **call.env, **(env or {})}
        full = {name: value for name, value in full.items() if value}
        command = Command(call.argv, self.root / stack_root, full, channel.env, channel.hello)
        with cache:
            finished, lines = _carry_out(command, timeout, cold=cold)
        answer = RunnerAnswer(
            call,
            finished.exit_code,
            finished.timed_out,
            finished.duration_ms,
            finished.output,
            lines=tuple(lines),
        )
        report = runner.report(request, (answer,))
        return finished, report

    def test(self, *selection: str, **options: object) -> TestReport:
        return self.execute(*selection, **options)[1]  # type: ignore[arg-type]


def _carry_out(command: Command, timeout: float, *, cold: bool) -> tuple[Finished, list[bytes]]:
    """A prepared interpreter declines a run that would differ from a cold one."""
    started = None if cold else start_prepared(command)
    lines: list[bytes] = []
    finished = run(command, timeout=timeout, on_line=lines.append, started=started)
    if started is not None and any(DECLINED in line for line in lines):
        return _carry_out(command, timeout, cold=True)
    return finished, lines


def channel_of(runner: Runner, request: TestRequest) -> ReportChannel:
    """The one command of a runner that works in the interpreter."""
    [call] = runner.commands(request)
    assert call.channel is not None
    return call.channel
