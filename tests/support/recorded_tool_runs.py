"""Runs of Go, cargo and vitest that were made once and are kept in a file, by everything that they depend on.

A run that is not recorded is made. `VERDIGRIS_RECORD_RUNS=1` runs everything, and writes the file again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from verdigris.core.records import from_json, to_json
from verdigris.core.report import RunEnd, TestReport
from verdigris.core.value import replace
from verdigris.execution.tools import call

RECORD = "VERDIGRIS_RECORD_RUNS"
ROOT = "@ROOT@"


@contextmanager
def recorded_runs(file: Path) -> Iterator[None]:
    """The tools are not started for recorded runs."""
    known = {} if os.environ.get(RECORD) else read_rows(file)
    runs = _Runs(known, call.call_tool)
    with patched(call, "call_tool", runs.answer):
        yield
    if os.environ.get(RECORD):
        write_rows(file, known)


@contextmanager
def compared_runs(file: Path) -> Iterator[list[str]]:
    """The tools are started; yields the commands of the runs that end as the file says."""
    runs = _Runs(read_rows(file), call.call_tool)
    with patched(call, "call_tool", runs.compare):
        yield runs.same


class _Runs:
    def __init__(self, known: dict[str, Any], run: Callable[[Any], TestReport]) -> None:
        self.known, self.run = known, run
        self.same: list[str] = []

    def answer(self, asked: Any) -> TestReport:
        key, root = _key(asked), str(asked.project.root)
        if key in self.known:
            return read_report(self.known[key], root)
        report = self.run(asked)
        self.known[key] = keep_report(_slim(report), root)
        return report

    def compare(self, asked: Any) -> TestReport:
        report, recorded = self.run(asked), self.known.get(_key(asked))
        assert recorded is not None, f"`{report.command}` is not recorded: {RECORD}=1 records it"
        recorded_report = read_report(recorded, str(asked.project.root))
        assert report_ends(recorded_report) == report_ends(report), f"`{report.command}`"
        self.same.append(report.command)
        return report


@dataclass(frozen=True)
class _Ends:
    """Everything that a result depends on; other versions of a tool use other words."""

    ended: str
    results: Mapping[str, tuple[str, str, bool]]
    errors: frozenset[str]


def report_ends(report: TestReport) -> _Ends:
    results = {
        one.native_id: (one.status, one.phase, bool(one.failure and one.failure.assertion))
        for one in report.results
    }
    return _Ends(report.ended, results, frozenset(error.path for error in report.errors))


def _key(asked: Any) -> str:
    """Fields with their default value are left out, so that a new field does not change the key."""
    layer, workspace = asked.layer, asked.project.workspace
    tree = workspace.snapshot() if layer is None else layer.wanted
    facts = [
        to_json(asked.stack),
        to_json(replace(asked.request, timeout=None)),
        [(one.path, one.mode, one.blob) for one in workspace.files(tree)],
        [] if layer is None else [to_json(layer.firm), sorted(layer.hidden)],
    ]
    text = json.dumps(facts, sort_keys=True).replace(str(asked.project.root), ROOT)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _slim(report: TestReport) -> TestReport:
    """Without the output and the times of tests: no answer of an audit depends on them."""
    results = tuple(replace(one, output="", duration_ms=0) for one in report.results)
    tail = "" if report.ended is RunEnd.FINISHED else report.tail
    return replace(report, results=results, tail=tail, duration_ms=0)


def keep_report(report: TestReport, root: str) -> Any:
    """A report as JSON, wherever the project lies."""
    return json.loads(json.dumps(to_json(report)).replace(root, ROOT))


def read_report(data: Any, root: str) -> TestReport:
    return from_json(TestReport, json.loads(json.dumps(data).replace(ROOT, root)))


def read_rows(file: Path) -> dict[str, Any]:
    """What a file of recordings holds; nothing if there is none."""
    rows: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return rows


def write_rows(file: Path, rows: Mapping[str, Any]) -> None:
    """One line for each recording, so that a difference can be read."""
    lines = (f"{json.dumps(key)}: {json.dumps(row, sort_keys=True)}" for key, row in rows.items())
    file.parent.mkdir(exist_ok=True)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


@contextmanager
def patched(module: Any, name: str, function: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, function)
        yield
