"""Executes a runner's calls with the real tool, and gives the results back to the runner."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from verdigris.runners.protocol import Runner, RunnerAnswer, RunnerCall, TestRequest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.core.report import TestReport


def execute(
    called: RunnerCall, report_folder: Path, *, timeout: float = 100, env: Mapping[str, str] | None = None
) -> RunnerAnswer:
    """Run it in a process group of its own, as the kernel does."""
    began = time.monotonic()
    process = subprocess.Popen(
        called.argv,
        cwd=called.cwd,
        env={**os.environ, **(env or {}), **called.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    timed_out = False
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
    code: int | None = process.returncode
    return RunnerAnswer(
        call=called,
        exit_code=None if code is None or code < 0 else code,
        timed_out=timed_out,
        duration_ms=round((time.monotonic() - began) * 1000),
        output=output,
        reports={
            str(file.relative_to(report_folder)): file.read_bytes()
            for file in sorted(report_folder.rglob("*"))
            if file.is_file()
        },
    )


def run_tool(
    runner: Runner, worktree: Path, names: tuple[str, ...] = (), *, reports: Path, **options: Any
) -> TestReport:
    """Run one request with all its calls, each with an empty report folder of its own below `reports`."""
    return runner.report(*answered(runner, worktree, names, reports=reports, **options))


def answered(
    runner: Runner,
    worktree: Path,
    names: tuple[str, ...] = (),
    *,
    reports: Path,
    timeout: float = 100,
    env: Mapping[str, str] | None = None,
    **fields: Any,
) -> tuple[TestRequest, tuple[RunnerAnswer, ...]]:
    """`fields`: those of the request."""
    folder = reports / f"run-{len(list(reports.iterdir())) if reports.exists() else 0}"
    folder.mkdir(parents=True)
    request = TestRequest(names, str(worktree), report_folder=str(folder), **fields)
    calls = runner.commands(request)
    return request, tuple(execute(called, folder, timeout=timeout, env=env) for called in calls)


def skip_where_maven_cannot(cwd: Path) -> None:
    """Skip the test if Maven does not work here, with Maven's own words."""
    argv = ["mvn", "-o", "-B", "-q", "test", "-Dmaven.test.failure.ignore=true"]
    done = subprocess.run(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    words = [line for line in f"{done.stdout}\n{done.stderr}".splitlines() if "[ERROR]" in line]
    if done.returncode and words:
        pytest.skip(f"Maven cannot do its work on this machine: {words[0].strip()[:300]}")


@cache
def why_not(tool: str, version: str) -> str:
    """Why a tool cannot be used here; empty if it answers. A shim on PATH may point to nothing."""
    found = shutil.which(tool)
    if found is None:
        return f"{tool} is not installed on this machine"
    asked = subprocess.run([found, version], capture_output=True, text=True, timeout=60, check=False)
    said = " / ".join(asked.stderr.strip().splitlines()[:3]) or "it said nothing"
    return "" if asked.returncode == 0 else f"{tool} does not run on this machine: {said}"
