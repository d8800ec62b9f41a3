"""Runs the same tests on the same files once in a session, for tests that are not about the run itself."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.killing import listing
from support.recorded_processes import patched
from verdigris.core.records import from_json, to_json
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.execution.rooms import possible
from verdigris.execution.tools import python_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

_ROOT = "@ROOT@"
_NOT_SEEN = frozenset({"tdd.yaml", "talk.jsonl"})
"""Files of our projects that none of their tests reads."""
_OF_RUNS = (
    "stacks",
    "spec",
    "oracle_include",
    "oracle_exclude",
    "room_env",
    "room_network",
    "room_git",
    "room_plugins",
)
"""The settings on which a run, or the report of its writes, depends."""
_TOOL = ("PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
_LASTING = (RunEnd.FINISHED, RunEnd.NO_START, RunEnd.EARLY_EXIT)
"""Ends of a run that do not depend on time or on a kill."""
_ENOUGH = 10.0
"""Seconds for a set of runs."""


def shared_reports(factory: pytest.TempPathFactory) -> Path:
    """The folder of reports that all workers of a session share."""
    base = factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "reports"


@contextmanager
def same_runs(folder: Path) -> Iterator[None]:
    """Reports are kept in `folder`; forked commands and other workers find them there."""
    folder.mkdir(exist_ok=True)
    with patched(python_call, "_run_in_room", _Memory(folder, python_call._run_in_room)):
        yield


@dataclass(frozen=True)
class _Memory:
    folder: Path
    run: Callable[[Any], TestReport]

    def __call__(self, job: Any) -> TestReport:
        root = str(job.project.root)
        if not job.project.root.is_dir():
            return self.run(job)
        kept = self.folder / _key(job, root)
        if kept.exists():
            report = from_json(TestReport, json.loads(kept.read_text("utf-8").replace(_ROOT, root)))
            _tell(job.call.progress, report)
            return report
        report = self.run(job)
        if report.ended not in _LASTING:
            return report
        fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
        fresh.write_text(json.dumps(to_json(report)).replace(root, _ROOT), "utf-8")
        fresh.replace(kept)
        return report


def _key(job: Any, root: str) -> str:
    """Everything on which a run's report may depend: the files, the request, the way it runs, the
    environment.
    """
    request = replace(job.call.request, timeout=None, runs=_with_time(job.call.request.runs))
    asked = replace(job, call=replace(job.call, project=None, progress=None, layer=None, request=request))
    surroundings = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith("PYTHON") or name in {*_TOOL, *job.project.settings.room_env}
    )
    settings = job.project.settings
    room = [getattr(settings, name) for name in _OF_RUNS]
    facts = (
        asked,
        _laid(job.project, job.call.layer),
        room,
        possible(job.project),
        surroundings,
        _files(job.project.root),
    )
    return hashlib.sha256(repr(facts).replace(root, _ROOT).encode(errors="surrogateescape")).hexdigest()


def _with_time(runs: Any) -> Any:
    """The time left differs from run to run. Only if it is short does it decide what is run."""
    return replace(runs, seconds=_ENOUGH) if runs is not None and runs.seconds > _ENOUGH else runs


def _laid(project: Any, layer: Any) -> object:
    """The files that the run sees instead of the worktree's, and those that are hidden from it."""
    if layer is None:
        return None
    files = [entry for entry in project.workspace.files(layer.wanted) if entry.path not in _NOT_SEEN]
    return files, layer.firm, layer.cacheless, layer.hidden, layer.dates


def _files(root: Path) -> list[tuple[str, object]]:
    return [
        (path, about) for path, about in listing(root, frozenset({".git"})).items() if path not in _NOT_SEEN
    ]


def _tell(progress: Any, report: TestReport) -> None:
    if progress is None:
        return
    progress.collected(len(report.collected))
    for result in report.results:
        progress.finished(result.native_id, Status(result.status))
