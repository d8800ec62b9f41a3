"""Carries out one unit in its own process: runs the `tdd` command and writes the result.

An engine starts carriers and nothing else. A carrier dies with the process that started it, and its command
dies with it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verdigris.core.errors import VerdigrisError
from verdigris.core.records import from_json, to_json
from verdigris.core.value import value
from verdigris.drivers.fleet.result_folder import ResultFolder
from verdigris.drivers.fleet.unit import FleetUnit, UnitEnd, UnitOutcome, judge_end
from verdigris.sandbox.syscalls import prctl

_PR_SET_PDEATHSIG = 1
NO_RESULT = 70
_SAID = 2000
"""Characters of an error that are kept."""


@value
class UnitJob:
    """The input of a carrier, which may come from another machine."""

    unit: FleetUnit
    folder: str
    seconds: float
    """The time limit of the command."""
    tdd: tuple[str, ...] = ()
    """The command `tdd`; by default the carrier's own interpreter runs it."""


def start_words() -> list[str]:
    """Returns the command that starts a carrier here; it reads the job from standard input."""
    return [sys.executable, "-m", "verdigris.drivers.fleet.carrier"]


def render_job(job: UnitJob) -> bytes:
    return json.dumps(to_json(job)).encode("utf-8", "surrogateescape")


def run_carrier(job: bytes) -> tuple[int, str]:
    """Runs a carrier to its end. Returns its exit code and the end of its output."""
    done = subprocess.run(start_words(), input=job, capture_output=True, check=False)
    return done.returncode, os.fsdecode(done.stdout + done.stderr)[-_SAID:]


def carry_out(job: UnitJob) -> UnitEnd:
    unit = job.unit
    if not Path(unit.repo).is_dir():
        return UnitEnd(UnitOutcome.INFRASTRUCTURE, why=f"{unit.repo} is not on this machine")
    argv = [*(job.tdd or (sys.executable, "-m", "verdigris")), *unit.words]
    code, output, error = _run_command(argv, unit.repo, job.seconds)
    if code is None:
        judged = UnitEnd(UnitOutcome.UNVERIFIED, why=f"it took more than {job.seconds:.0f} s")
    else:
        judged = judge_end(unit, code, output, error)
    if judged.outcome is not UnitOutcome.INFRASTRUCTURE:
        ResultFolder(Path(job.folder)).keep(unit, judged, 124 if code is None else code)
    return judged


def _run_command(argv: Sequence[str], cwd: str, seconds: float) -> tuple[int | None, str, str]:
    """Returns the exit code, or None if its time was up, and what it printed."""
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the carrier has one thread
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", ""
    return process.returncode, os.fsdecode(out), os.fsdecode(err)


def die_with_parent() -> None:
    """Asks Linux to kill this process with its parent; elsewhere an orphan runs to its end."""
    if sys.platform == "linux":
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> int:
    starter = os.getppid()
    die_with_parent()
    task: Any = json.loads(sys.stdin.buffer.read())
    if os.getppid() != starter:  # the starter died before Linux would tell us
        return NO_RESULT
    try:
        judged = carry_out(from_json(UnitJob, task))
    except (VerdigrisError, OSError) as error:
        sys.stdout.write(f"{error}\n")
        return NO_RESULT
    sys.stdout.write(f"{judged.why or ', '.join(judged.answers)}\n")
    return NO_RESULT if judged.outcome is UnitOutcome.INFRASTRUCTURE else 0


if __name__ == "__main__":
    sys.exit(main())
