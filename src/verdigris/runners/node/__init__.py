"""Calls of vitest (2 and later), jest (29 and later) and node:test, and the facts of these tools."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.languages.registry import reader_of
from verdigris.runners.node import report as node_report
from verdigris.runners.node.selection import SelectionBatch, batches, by_path, escape, full_path
from verdigris.runners.protocol import Harness, RunnerAnswer, RunnerCall, RunnerKind, TestRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.report import TestReport


VITEST, JEST = "node_modules/vitest/vitest.mjs", "node_modules/jest/bin/jest.js"
_REPORTERS = Path(__file__).parents[1] / "reporter" / "node"
_DRIVER = _REPORTERS / "node_driver.cjs"
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
"""Vitest 3 starts one process more than there are files, which takes a quarter of a short run."""
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
"""The most bytes of one argument; Linux takes 128 KiB."""


class _NodeRunner:
    """What the three tools have in common: our reporters write the same kind of lines in each."""

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:
        return node_report.parse(request, answers)


@value
class Vitest(_NodeRunner):
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


@value
class Jest(_NodeRunner):
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


@value
class NodeTest(_NodeRunner):
    """Collecting lists files only: in node:test a test exists only when it runs."""

    node: str = "node"

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        selected = by_path(request.names) or {request.stack_root or ".": ()}
        files = (_file(full_path(request, path), names) for path, names in selected.items())
        mode = "collect" if request.collect_only else "run"
        argv = (self.node, str(_DRIVER), mode, json.dumps(request.extra), *files)
        return (_call(request, argv, ("node", "--test", *request.extra, *request.names)),)


def _name_pattern(batch: SelectionBatch) -> tuple[str, ...]:
    return () if batch.pattern is None else (f"--testNamePattern={batch.pattern}",)


def _call(request: TestRequest, argv: tuple[str, ...], words: tuple[str, ...]) -> RunnerCall:
    """A call with our reporter. `words`: the command as a person would type it."""
    report = f"{request.report_folder}/{secrets.token_hex(16)}.jsonl"
    return RunnerCall(
        argv=argv, cwd=request.folder, command=shlex.join(words), env={node_report.REPORT: report}
    )


def _file(path: str, names: tuple[tuple[str, ...], ...]) -> str:
    """The driver's argument for a file.

    With too many names for one argument the whole file runs: results of tests that were not asked for do not
    count.
    """
    selection = json.dumps({"path": path, "names": names})
    return selection if names and len(selection) <= _ARGUMENT else json.dumps({"path": path})


_OLDEST_NODE = (18,)
_VITEST_LINE = r"^ *FAIL +(?:\|[^|\n]+\| +)?(\S+(?: > .+)?)\n+((?:[\w.]*Error\b)?)"
_JEST_LINE = r"^ {2}● (.+? › .+)$"
_TAP_LINE = r"^ *not ok \d+ -? ?(.+?)(?: #.*)?$"


def read_vitest_log(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(_VITEST_LINE, text, re.MULTILINE):
        if " > " in match[1] or match[2]:
            yield match[1], match[2]


def read_jest_log(text: str) -> Iterator[tuple[str, str]]:
    yield from ((match[1], "") for match in re.finditer(_JEST_LINE, text, re.MULTILINE))


def read_tap_log(text: str) -> Iterator[tuple[str, str]]:
    yield from ((match[1], "") for match in re.finditer(_TAP_LINE, text, re.MULTILINE))


def _name_parts(native: str) -> tuple[str, ...]:
    path = split_id(native).path
    return (path, *reader_of(path).ids.name_parts(native))


def _vitest_name(native: str) -> str:
    return " > ".join(_name_parts(native))


def _jest_name(native: str) -> str:
    """The name of a test in jest's output, which does not show the blocks around it."""
    return _name_parts(native)[-1]


_IMAGE = "node:22"
_INSTALL = ("if [ -f package-lock.json ]; then npm ci; else npm install; fi",)
_MISSING = ((r"Cannot find (?:module|package) '", "install the packages"),)
KINDS = (
    RunnerKind(
        "vitest",
        package="vitest",
        oldest=(2,),
        oldest_program=_OLDEST_NODE,
        read_log=read_vitest_log,
        missing=_MISSING,
        harness=Harness(
            "parse_log_vitest",
            _vitest_name,
            lambda files: f"npx vitest run --reporter=verbose {shlex.join(files)}",
            _IMAGE,
            _INSTALL,
        ),
    ),
    RunnerKind(
        "jest",
        loads_modules=False,
        package="jest",
        oldest=(29,),
        oldest_program=_OLDEST_NODE,
        read_log=read_jest_log,
        missing=_MISSING,
        harness=Harness(
            "parse_log_jest",
            _jest_name,
            lambda files: f"npx jest --verbose {shlex.join(files)}",
            _IMAGE,
            _INSTALL,
        ),
    ),
    RunnerKind(
        "node-test",
        can_collect=False,
        oldest_program=_OLDEST_NODE,
        read_log=read_tap_log,
        missing=_MISSING,
    ),
)
