"""Processes of Go, cargo, vitest and node:test that ran in a room once, kept in a file for each test.

The decisions of a turn depend on how tests ended, not on the tool's start, which takes most of the time. Our
call of the tool, and our reading of its output, happen each time. A process is identified by its command and
by the files that it sees. A process that is not recorded is run. `VERDIGRIS_RECORD_RUNS=1` runs everything,
and writes the files again.
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

import verdigris
from support.node_tools import TOOLS
from support.recorded_tool_runs import RECORD, patched, read_rows, report_ends, write_rows
from verdigris.execution.process import Finished
from verdigris.execution.rooms import RoomTraces
from verdigris.execution.tools import call, runs
from verdigris.execution.tools.runs import Ran, RunPlace
from verdigris.runners.reporter.node_watch import REPORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.core.report import TestReport
    from verdigris.runners.protocol import RunnerCall

FOLDER = Path(__file__).parent / "runs"
_NOT_SEEN = ("tdd.yaml", ".tdd/")
"""Files of our projects that none of their tests reads: a server's address, pages of a cycle."""
_OURS = str(Path(verdigris.__file__).parent)


@contextmanager
def recorded_processes(name: str) -> Iterator[None]:
    """Commands that a test forks use the recording too."""
    file = FOLDER / f"{name}.json"
    if record := bool(os.environ.get(RECORD)):
        file.unlink(missing_ok=True)
    known = _Processes(read_rows(file), file)
    with patched(runs, "_try_in_room", known.record if record else known.answer):
        yield


@contextmanager
def compared_processes(name: str) -> Iterator[None]:
    """Start the tools, and check that they end as the file says."""
    if os.environ.get(RECORD):
        with recorded_processes(name):
            yield
        return
    file = FOLDER / f"{name}.json"
    known = _Processes(read_rows(file), file)
    with patched(call, "call_tool", _Comparison(known, call.call_tool).compare):
        yield


@dataclass
class _Comparison:
    known: _Processes
    run: Callable[[Any], TestReport]

    def compare(self, asked: Any) -> TestReport:
        report = self.run(asked)
        with patched(runs, "_try_in_room", self.known.find):
            recorded = self.run(asked)
        assert report_ends(recorded) == report_ends(report), f"`{report.command}`"
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
            write_rows(self.file, {**read_rows(self.file), names.key(): names.keep(done)})
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


def _program(word: str) -> str:
    """A program by its name, because its folder differs from machine to machine."""
    is_one = word.startswith("/") and os.access(word, os.X_OK) and Path(word).is_file()
    return Path(word).name if is_one and word != sys.executable else word
