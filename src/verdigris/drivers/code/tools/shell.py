"""The `shell` tool: a command in the sandbox of agents' shells, with a time limit, or as a job behind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from verdigris.core.agents import OWN_SESSION
from verdigris.drivers.code.tools.workbench import ToolAnswer, failed
from verdigris.execution.process import Command, run
from verdigris.gates.agent_shell.launcher import arguments
from verdigris.storage.open_calls import alive
from verdigris.turns.tripwire.calls import after_call

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from verdigris.drivers.code.tools.workbench import Workbench
    from verdigris.storage.project import Project
    from verdigris.storage.repository import Repository

CLIENT = "code"
LONGEST = 1_800
"""Seconds that a call may ask for."""
KEPT = 8_000
"""Bytes of output kept at each end."""
_MOST_JOBS = 8


def shell(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    if "job" in given:
        return _look_at_job(bench, given["job"], stop=given.get("stop", False))
    command = given.get("command", "").strip()
    if not command or "\0" in command:
        return failed("command is missing: a line for the shell; or job: a job that was started before.")
    argv = [*arguments(bench.project.repo), command]
    env = environment_of(bench.session, bench.scrub.variables)
    if given.get("background", False):
        if len(bench.jobs.running) >= _MOST_JOBS:
            return failed(f"{_MOST_JOBS} jobs have been started: stop one first (job, stop).")
        name = bench.jobs.start(argv, command, bench.project.root, env)
        return ToolAnswer(f"started as {name}; shell with job: {name} shows its output, with stop ends it.")
    seconds = min(max(1, given.get("seconds", bench.seconds)), LONGEST)
    done = run(Command(tuple(argv), bench.project.root, env), timeout=seconds, kept=KEPT)
    said = done.output.decode(errors="replace").rstrip()
    if done.timed_out:
        text = f"{said}\n(ended after {seconds} s: give it more seconds, or background)".strip()
        return ToolAnswer("\n".join(filter(None, (text, _look_after(bench.project)))), "failed")
    code = done.exit_code if done.exit_code is not None else f"signal {done.signal}"
    return ToolAnswer(f"{said}\n(exit {code})".strip(), "ok" if done.exit_code == 0 else "failed")


def _look_at_job(bench: Workbench, name: str, *, stop: bool) -> ToolAnswer:
    job = bench.jobs.running.get(name)
    if job is None:
        known = ", ".join(bench.jobs.running) or "none was started"
        return failed(f"there is no job {name}: {known}.")
    if stop:
        bench.jobs.stop(name)
    code = job.process.poll()
    said = _ends_of(job.output)
    if code is not None:
        del bench.jobs.running[name]
        job.output.unlink(missing_ok=True)
    state = "runs" if code is None else f"ended: exit {code}"
    looked = _look_after(bench.project) if stop else ""
    return ToolAnswer("\n".join(filter(None, (said, f"({name} {state})", looked))))


def _ends_of(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(KEPT)
        file.seek(max(KEPT, size - KEPT))
        tail = file.read()
    gap = f"\n... {size - 2 * KEPT} bytes left out ...\n".encode() if size > 2 * KEPT else b""
    return (head + gap + tail).decode(errors="replace").rstrip()


def _look_after(project: Project) -> str:
    """A call that was killed could not look itself at what it had written."""
    return after_call(project, agent_alive=alive(str(project.repo.private))).text


def environment_of(session: str, secrets: Collection[str]) -> dict[str, str]:
    """Ours, without the keys of models; commands of the agent's know whose they are."""
    usual = {name: given for name, given in os.environ.items() if name not in secrets}
    return usual | {"TDD_CLIENT": CLIENT, OWN_SESSION: session}


def jobs_folder(repo: Repository, session: str) -> Path:
    return repo.private / "sessions" / f"{session}.jobs"
