"""Calls vitest (2 and later)."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.runners import node_report
from verdigris.runners.node_selection import batches, full_path
from verdigris.runners.protocol import RunnerCall

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.runners.node_selection import SelectionBatch
    from verdigris.runners.protocol import RunnerAnswer, TestRequest

BIN = "node_modules/vitest/vitest.mjs"
_REPORTER = Path(__file__).parent / "reporter" / "node" / "vitest_reporter.mjs"
_OPTIONS = (
    f"--reporter={_REPORTER}",
    "--allowOnly",
    "--retry=0",
    "--bail=0",
    "--coverage.enabled=false",
    "--passWithNoTests=false",
)
"""A verdict needs every result, whatever the project's configuration says."""


@value
class Vitest:
    node: str = "node"
    script: str = BIN
    """What node runs, from the stack's folder."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        return tuple(self._call(request, batch) for batch in batches(request))

    def _call(self, request: TestRequest, batch: SelectionBatch) -> RunnerCall:
        named = () if batch.pattern is None else (f"--testNamePattern={batch.pattern}",)
        paths = tuple(full_path(request, path) for path in batch.paths)
        return RunnerCall(
            argv=(self.node, self.script, "run", *request.extra, *_OPTIONS, *named, *paths),
            cwd=request.folder,
            command=shlex.join(["vitest", "run", *request.extra, *named, *batch.paths]),
            env={node_report.REPORT: f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"},
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)
