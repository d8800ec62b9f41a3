"""Calls jest (29 and later)."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.runners import node_report
from verdigris.runners.node_selection import batches, escape, full_path
from verdigris.runners.protocol import RunnerCall

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.runners.node_selection import SelectionBatch
    from verdigris.runners.protocol import RunnerAnswer, TestRequest

BIN = "node_modules/jest/bin/jest.js"
_REPORTER = Path(__file__).parent / "reporter" / "node" / "jest_reporter.cjs"
_OPTIONS = (
    "--ci",
    f"--reporters={_REPORTER}",
    "--testLocationInResults",
    "--bail=0",
    "--coverage=false",
    "--passWithNoTests=false",
    "--updateSnapshot=false",
    "--onlyChanged=false",
    "--onlyFailures=false",
)
"""A verdict needs every result, whatever the project's configuration says."""


@value
class Jest:
    node: str = "node"
    script: str = BIN
    """What node runs, from the stack's folder."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        return tuple(self._call(request, batch) for batch in batches(request))

    def _call(self, request: TestRequest, batch: SelectionBatch) -> RunnerCall:
        named = () if batch.pattern is None else (f"--testNamePattern={batch.pattern}",)
        paths = tuple(f"^{escape(full_path(request, path))}(?:/|$)" for path in batch.paths)
        cache = f"--cacheDirectory={request.report_folder}/.cache"
        return RunnerCall(
            argv=(self.node, self.script, *request.extra, *_OPTIONS, cache, *named, "--", *paths),
            cwd=request.folder,
            command=shlex.join(["jest", *request.extra, *named, *batch.paths]),
            env={node_report.REPORT: f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"},
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)
