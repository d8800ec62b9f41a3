"""Calls Node's test tools: vitest (2 and later), jest (29 and later), and node:test, one process per file."""

from __future__ import annotations

import json
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import replace, value
from verdigris.runners.node import report as node_report
from verdigris.runners.node.selection import batches, by_path, escape, full_path
from verdigris.runners.protocol import RunnerCall

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.runners.node.selection import SelectionBatch
    from verdigris.runners.protocol import RunnerAnswer, TestRequest


VITEST, JEST = "node_modules/vitest/vitest.mjs", "node_modules/jest/bin/jest.js"
_REPORTERS = Path(__file__).parents[1] / "reporter" / "node"
_DRIVER = _REPORTERS / "node_driver.mjs"
# A verdict needs every result, whatever the project's configuration says.
_VITEST_OPTIONS = (
    f"--reporter={_REPORTERS / 'vitest_reporter.mjs'}",
    "--allowOnly",
    "--retry=0",
    "--bail=0",
    "--coverage.enabled=false",
    "--passWithNoTests=false",
)
_NO_SPARE_WORKERS = {"VITEST_MIN_FORKS": "0", "VITEST_MIN_THREADS": "0"}
"""Vitest 3 starts a process for the file after the last one, which is a quarter of a short run."""
_JEST_OPTIONS = (
    "--ci",
    f"--reporters={_REPORTERS / 'jest_reporter.cjs'}",
    "--testLocationInResults",
    "--bail=0",
    "--coverage=false",
    "--passWithNoTests=false",
    "--updateSnapshot=false",
    "--onlyChanged=false",
    "--onlyFailures=false",
)
_ARGUMENT = 100_000
"""Bytes of one argument; Linux takes 128 KiB."""


@value
class Vitest:
    node: str = "node"
    script: str = VITEST
    """What node runs, from the stack's folder."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        return tuple(self._call(request, batch) for batch in batches(request))

    def _call(self, request: TestRequest, batch: SelectionBatch) -> RunnerCall:
        named = _name_pattern(batch)
        paths = (full_path(request, path) for path in batch.paths)
        argv = (self.node, self.script, "run", *request.extra, *_VITEST_OPTIONS, *named, *paths)
        called = _call(request, argv, ("vitest", "run", *request.extra, *named, *batch.paths))
        return replace(called, env={**_NO_SPARE_WORKERS, **called.env})

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)


@value
class Jest:
    node: str = "node"
    script: str = JEST
    """What node runs, from the stack's folder."""

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        return tuple(self._call(request, batch) for batch in batches(request))

    def _call(self, request: TestRequest, batch: SelectionBatch) -> RunnerCall:
        named = _name_pattern(batch)
        paths = (f"^{escape(full_path(request, path))}(?:/|$)" for path in batch.paths)
        cache = f"--cacheDirectory={request.report_folder}/.cache"
        argv = (self.node, self.script, *request.extra, *_JEST_OPTIONS, cache, *named, "--", *paths)
        return _call(request, argv, ("jest", *request.extra, *named, *batch.paths))

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)


@value
class NodeTest:
    """To collect lists files only: what node calls a test exists no sooner than it runs."""

    node: str = "node"

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        asked = by_path(request.names) or {request.stack_root or ".": ()}
        files = (_file(full_path(request, path), names) for path, names in asked.items())
        mode = "collect" if request.collect_only else "run"
        argv = (self.node, str(_DRIVER), mode, json.dumps(request.extra), *files)
        return (_call(request, argv, ("node", "--test", *request.extra, *request.names)),)

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)


def _name_pattern(batch: SelectionBatch) -> tuple[str, ...]:
    return () if batch.pattern is None else (f"--testNamePattern={batch.pattern}",)


def _call(request: TestRequest, argv: tuple[str, ...], words: tuple[str, ...]) -> RunnerCall:
    """`words`: the command as a person would type it."""
    report = f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"
    return RunnerCall(
        argv=argv, cwd=request.folder, command=shlex.join(words), env={node_report.REPORT: report}
    )


def _file(path: str, names: tuple[tuple[str, ...], ...]) -> str:
    """A file with too many names for one argument runs whole; what was not asked for does not count."""
    asked = json.dumps({"path": path, "names": names})
    return asked if names and len(asked) <= _ARGUMENT else json.dumps({"path": path})
