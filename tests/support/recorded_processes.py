"""Processes of Go, cargo, vitest and node:test that ran in a room once, kept in a file for each test.

The decisions of a turn, or of an audit, depend on how tests ended, not on the tool's start, which takes most
of the time. Our call of the tool, and our reading of its output, happen each time. A process is identified by
its command and by the files that it sees. A process that is not recorded is run. `VERDIGRIS_RECORD_RUNS=1`
runs everything, and writes the files again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import verdigris
from support.node_tools import TOOLS
from verdigris.execution.process import Finished
from verdigris.execution.rooms import RoomTraces
from verdigris.execution.tools import call, runs
from verdigris.execution.tools.runs import Ran, RunPlace
from verdigris.runners.reporter.node_watch import REPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from verdigris.core.report import TestReport
    from verdigris.runners.protocol import RunnerCall

RECORD = "VERDIGRIS_RECORD_RUNS"
FOLDER = Path(__file__).parent / "runs"
_NOT_SEEN = ("tdd.yaml", ".tdd/")
"""Files of our projects that none of their tests reads: a server's address, pages of a cycle."""
_OURS = str(Path(verdigris.__file__).parent)


@contextmanager
def recorded_processes(file: Path) -> Iterator[None]:
    """Commands that a test forks use the recording too."""
    if record := bool(os.environ.get(RECORD)):
        file.unlink(missing_ok=True)
    known = _Processes(_read_rows(file), file)
    with patched(runs, "_try_in_room", known.record if record else known.answer):
        yield


@contextmanager
def compared_processes(file: Path) -> Iterator[list[str]]:
    """Start the tools, and check that they end as the file says; yields the commands that were compared."""
    comparison = _Comparison(_Processes(_read_rows(file), file), call.call_tool)
    with patched(call, "call_tool", comparison.compare):
        yield comparison.same


@contextmanager
def patched(module: Any, name: str, function: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, function)
        yield


@dataclass
class _Comparison:
    known: _Processes
    run: Callable[[Any], TestReport]
    same: list[str] = field(default_factory=list)

    def compare(self, asked: Any) -> TestReport:
        report = self.run(asked)
        with patched(runs, "_try_in_room", self.known.find):
            recorded = self.run(asked)
        assert _report_ends(recorded) == _report_ends(report), f"`{report.command}`"
        self.same.append(report.command)
        return report


@dataclass
class _Processes:
    known: dict[str, Any]
    file: Path
    run: Callable[..., Ran | str] = field(default_factory=lambda: runs._try_in_room)

    def answer(self, asked: RunnerCall, place: RunPlace, timeout: float) -> Ran | str:
        names = _Names(asked, place)
        found = self.known.get(names.key())
        return self.run(asked, place, timeout) if found is None else names.replay(found)

    def find(self, asked: RunnerCall, place: RunPlace, _: float) -> Ran:
        names = _Names(asked, place)
        found = self.known.get(names.key())
        assert found is not None, f"`{asked.command}` is not recorded: {RECORD}=1 records it"
        return names.replay(found)

    def record(self, asked: RunnerCall, place: RunPlace, timeout: float) -> Ran | str:
        """Write each process down at once: a forked command does not return to us."""
        done, names = self.run(asked, place, timeout), _Names(asked, place)
        if isinstance(done, Ran):
            _write_rows(self.file, {**_read_rows(self.file), names.key(): names.keep(done)})
        return done


class _Names:
    """The names that differ from run to run of one process: folders, programs, the report's file."""

    def __init__(self, asked: RunnerCall, place: RunPlace) -> None:
        self.asked, self.place = asked, place
        kept, own = place.equipment.writable[0]
        self.reports = Path(kept, "cache")
        report = Path(asked.env[REPORT]).stem if REPORT in asked.env else ""
        program = Path(asked.argv[0])
        named = {
            str(place.project.root): "@ROOT@",
            own: "@OWN@",
            report: "@REPORT@",
            str(TOOLS): "@TOOLS@",
            str(program.parents[1]) if program.parts[-2:] == ("bin", "go") else "": "@GO@",
            _OURS: "@OURS@",
            sys.executable: "@PYTHON@",
        }
        self.named = {text: mark for text, mark in named.items() if text}

    def key(self) -> str:
        layer, workspace = self.place.layer, self.place.project.workspace
        tree = workspace.snapshot() if layer is None else layer.wanted
        facts = [
            [self.mark(_program(word)) for word in self.asked.argv],
            {name: self.mark(text) for name, text in sorted(self.asked.env.items())},
            [
                (one.path, one.mode, one.blob)
                for one in workspace.files(tree)
                if not one.path.startswith(_NOT_SEEN)
            ],
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def keep(self, done: Ran) -> dict[str, Any]:
        files = {path.name: path.read_bytes() for path in self.reports.glob("*") if path.is_file()}
        return {
            "code": done.finished.exit_code,
            "output": self.mark(done.finished.output.decode("utf-8", "surrogateescape")),
            "reports": {
                self.mark(name): self.mark(data.decode("utf-8", "surrogateescape"))
                for name, data in files.items()
            },
            "opened": done.traces.opened,
            "wrote": done.traces.wrote,
        }

    def replay(self, kept: dict[str, Any]) -> Ran:
        for name, text in kept["reports"].items():
            data = self.unmark(text).encode("utf-8", "surrogateescape")
            (self.reports / self.unmark(name)).write_bytes(data)
        output = self.unmark(kept["output"]).encode("utf-8", "surrogateescape")
        finished = Finished(kept["code"], None, timed_out=False, output=output, channel=b"", duration_ms=1)
        return Ran(finished, RoomTraces("overlay", tuple(kept["wrote"]), tuple(kept["opened"])))

    def mark(self, text: str) -> str:
        for name, mark in self.named.items():
            text = text.replace(name, mark)
        return text

    def unmark(self, text: str) -> str:
        for name, mark in self.named.items():
            text = text.replace(mark, name)
        return text


@dataclass(frozen=True)
class _Ends:
    """Everything that a result depends on; other versions of a tool use other words."""

    ended: str
    results: Mapping[str, tuple[str, str, bool]]
    errors: frozenset[str]


def _report_ends(report: TestReport) -> _Ends:
    results = {
        one.native_id: (one.status, one.phase, bool(one.failure and one.failure.assertion))
        for one in report.results
    }
    return _Ends(report.ended, results, frozenset(error.path for error in report.errors))


def _read_rows(file: Path) -> dict[str, Any]:
    """What a file of recordings holds; nothing if there is none."""
    rows: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    return rows


def _write_rows(file: Path, rows: Mapping[str, Any]) -> None:
    """One line for each recording, so that a difference can be read."""
    lines = (f"{json.dumps(key)}: {json.dumps(row, sort_keys=True)}" for key, row in rows.items())
    file.parent.mkdir(exist_ok=True)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def _program(word: str) -> str:
    """A program by its name, because its folder differs from machine to machine."""
    is_one = word.startswith("/") and os.access(word, os.X_OK) and Path(word).is_file()
    return Path(word).name if is_one and word != sys.executable else word
