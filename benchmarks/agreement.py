"""The suites of real packages, run cold and warm: every outcome is compared.

`python benchmarks/agreement.py [NAME…]`. Source distributions are fetched once, by name, into a cache folder;
each gets an environment of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.records import Actor
from verdigris.execution.resident import forkserver, resident
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from verdigris.core.report import TestReport
    from verdigris.storage.project import Project

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verdigris-agreement"
NEEDS = {
    "attrs": ("hypothesis", "cloudpickle", "pympler"),
    "click": (),
    "more-itertools": (),
}
"""Packages, and what their tests need besides pytest."""
WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Agreement:
    name: str
    tests: int
    outcomes: dict[str, int]
    differing: list[str]
    cold: float
    warm: float
    """Seconds of one call."""
    warm_runs: int


def main(names: list[str]) -> int:
    found = [agreement(name) for name in names or NEEDS]
    for one in found:
        told = ", ".join(f"{count} {status}" for status, count in sorted(one.outcomes.items()))
        print(f"{one.name}: {one.tests} tests ({told}), {len(one.differing)} differ; "
              f"cold {one.cold:.2f} s, warm {one.warm:.2f} s in {one.warm_runs} runs")  # fmt: skip
        print(*(f"  {line}" for line in one.differing[:20]), sep="\n")
    return int(any(one.differing or not one.warm_runs for one in found))


def agreement(name: str) -> Agreement:
    """Cold twice, since what differs between two cold runs says nothing; then warm twice."""
    project = open_project(_project(name), Actor("person", client="bench"))
    os.environ["VERDIGRIS_WARM"] = "0"
    cold, seconds = _timed(project)
    again, _ = _timed(project)
    del os.environ["VERDIGRIS_WARM"]
    try:
        _timed(project)
        _await(project)
        warm_runs, warm, warmed = 0, seconds, []
        take = forkserver.take
        for _ in range(2):
            taken: list[bool] = []
            forkserver.take = lambda *words, taken=taken: (found := take(*words), taken.append(bool(found)))[
                0
            ]
            _await(project)
            report, warm = _timed(project)
            forkserver.take = take
            warm_runs += any(taken)
            warmed.append(_outcomes(report))
    finally:
        resident.stop(str(project.repo.private))
    before, steady = _outcomes(cold), _outcomes(again)
    differing = [
        f"{test}: {before.get(test)} cold, {after.get(test)} warm"
        for after in warmed
        for test in sorted(before.keys() | after.keys())
        if before.get(test) == steady.get(test) != after.get(test)
    ]
    return Agreement(
        name,
        len(before),
        dict(Counter(outcome[0] for outcome in before.values())),
        differing,
        seconds,
        warm,
        warm_runs,
    )


def _outcomes(report: TestReport) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {
        r.native_id: (str(r.status), str(r.phase), r.note, r.failure.kind if r.failure else "")
        for r in report.results
    }
    found |= {f"{error.path} (cannot be collected)": (error.kind, error.message) for error in report.errors}
    found["the run"] = (str(report.ended), str(report.exit_code))
    return found


def _timed(project: Project) -> tuple[TestReport, float]:
    (stack,) = project.settings.stacks
    begun = time.perf_counter()
    report = run_request(project, stack, TestRequest((), timeout=900))
    return report, time.perf_counter() - begun


def _await(project: Project) -> None:
    """Until the resident has loaded what it shall."""
    deadline = time.monotonic() + WAIT
    folders = list((project.repo.private / resident.FOLDER).glob("*"))
    while not all(resident.read_note(str(folder)).get("ready") for folder in folders):
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)


def _project(name: str) -> Path:
    root = CACHE / name
    if not (root / ".git" / "tdd").is_dir():
        _unpacked(name).rename(root)
        python = root / ".venv" / "bin" / "python"
        _run(sys.executable, "-m", "venv", str(root / ".venv"))
        _run(str(python), "-m", "pip", "install", "-q", "pytest", *NEEDS.get(name, ()), "-e", str(root))
        _run("git", "init", "-q", cwd=root)
        (root / "tdd.yaml").write_text("stacks:\n  - root: .\n    python: .venv/bin/python\n")
        (root / ".git" / "info" / "exclude").write_text(".venv/\n")
        initialise(root, Actor("person", client="bench"))
    return root


def _unpacked(name: str) -> Path:
    folder = CACHE / f"{name}.sdist"
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob("*.tar.gz")):
        fetch = ("download", "-q", "--no-deps", "--no-binary", ":all:", name, "-d", str(folder))
        _run(sys.executable, "-m", "pip", *fetch)
    _run("tar", "-xzf", str(next(folder.glob("*.tar.gz"))), "-C", str(folder))
    return next(path for path in folder.iterdir() if path.is_dir())


def _run(*argv: str, cwd: Path | None = None) -> None:
    subprocess.run(argv, cwd=cwd, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
