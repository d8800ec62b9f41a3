"""Calls vitest (2 and later)."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.runners import node_report
from verdigris.runners.node_selection import batches, full_path, stack_folder
from verdigris.runners.protocol import Called

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.runners.node_selection import Batch
    from verdigris.runners.protocol import Answered, Request

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

    def called(self, request: Request) -> tuple[Called, ...]:
        return tuple(self._called(request, batch) for batch in batches(request))

    def _called(self, request: Request, batch: Batch) -> Called:
        named = () if batch.pattern is None else (f"--testNamePattern={batch.pattern}",)
        paths = tuple(full_path(request, path) for path in batch.paths)
        return Called(
            argv=(self.node, self.script, "run", *request.extra, *_OPTIONS, *named, *paths),
            cwd=stack_folder(request),
            command=shlex.join(["vitest", "run", *request.extra, *named, *batch.paths]),
            env={node_report.REPORT: f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"},
        )

    def parsed(self, request: Request, answers: tuple[Answered, ...]) -> TestReport:
        return node_report.parse(request, answers)
