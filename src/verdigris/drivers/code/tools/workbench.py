"""The state that the tools of a session share, and its shell with background jobs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from verdigris.core.actions import Deny
from verdigris.core.agents import OWN_SESSION
from verdigris.core.errors import UserError
from verdigris.core.paths import PathClass
from verdigris.core.value import value
from verdigris.drivers.code.conversation import clip, describe_denial
from verdigris.drivers.code.settings import Sweep, touched_files
from verdigris.execution.process import Command, run
from verdigris.gates.agent_shell.launcher import arguments
from verdigris.languages.tests import written_tests
from verdigris.models.providers import Scrubber, hide_keys
from verdigris.models.roles.context import HUGE, as_text, secret
from verdigris.storage.calls.open_calls import alive
from verdigris.storage.log.light import digest
from verdigris.storage.paths import canonical
from verdigris.storage.project import Project
from verdigris.storage.repository import Repository
from verdigris.turns.tripwire.calls import after_call

Outcome = Literal["ok", "denied", "failed", "suppressed"]


@dataclass
class Job:
    process: subprocess.Popen[bytes]
    output: Path


@dataclass
class Jobs:
    folder: Path
    running: dict[str, Job] = field(default_factory=dict)
    started: int = 0

    def start(self, argv: list[str], cwd: Path, env: Mapping[str, str]) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.started += 1
        name = f"j{self.started}"
        output = self.folder / f"{name}.out"
        with output.open("wb") as file:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.running[name] = Job(process, output)
        return name

    def stop(self, name: str) -> None:
        process = self.running[name].process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name, job in self.running.items():
            self.stop(name)
            job.output.unlink(missing_ok=True)
        self.running.clear()


@value
class TurnVerdict:
    """A settlement, in the form that the session needs."""

    text: str
    """The end of the turn's last answer."""
    footer: str
    verdict: str
    accepted: tuple[str, ...] = ()
    aside: str | None = None
    claimed: tuple[str, ...] = ()


@value
class ToolAnswer:
    text: str
    outcome: Outcome = "ok"
    wrote: bool = False
    """It is an edit that was carried out."""
    more: bool = False
    """The model announced another edit: the turn is not judged yet."""
    summary: str | None = None
    """Of `finish`: the model's summary for the person."""
    judged: TurnVerdict | None = None
    """Of `refactor_end`: the verdict."""


LATIN = "latin-1"
_CONTROL = bytes({*range(32), 127}.difference(b"\t\n\v\f\r\x1b"))


def read_text(data: bytes) -> str | None:
    """The text of a file in UTF-8, or else in Latin-1, which keeps every byte; None if it is no text."""
    text = as_text(data)
    if text is not None or data.translate(None, _CONTROL) != data:
        return text
    return data.decode(LATIN)


def answer_denial(deny: Deny) -> ToolAnswer:
    return ToolAnswer(describe_denial(deny), "denied")


def answer_failure(text: str) -> ToolAnswer:
    return ToolAnswer(text, "failed")


@dataclass
class Workbench:
    project: Project
    session: str
    scrub: Scrubber
    jobs: Jobs
    seconds: int = 120
    """The time limit of a shell command."""
    patching: bool = False
    """The model edits by patches."""
    sweep: Sweep | None = None
    """The scope of the open refactor, if a person gave it one."""
    failed_edits: Counter[str] = field(default_factory=Counter)
    """By path, how many edits failed since it was last written."""
    seen: dict[str, str] = field(default_factory=dict)
    """Path → digest of the bytes that the model knows."""

    @property
    def withheld(self) -> frozenset[str]:
        return frozenset(self.project.state().held_out)

    def locate(self, spelling: str) -> str | ToolAnswer:
        """The path from the root, or an answer if it is outside or not shown to models."""
        try:
            path = canonical(self.project.root, spelling, cwd=self.project.root).path
        except UserError as error:
            return answer_failure(f"{error.message}.")
        if path is None:
            return answer_denial(
                Deny("outside", f"{spelling} lies outside the repository.", "stay inside it")
            )
        if secret(path) or path in self.withheld or path.split("/")[0] == ".git":
            return answer_denial(
                Deny("not-shown", f"{path} is not shown to models.", "do without it, or ask the person")
            )
        return path

    def read_bytes(self, path: str) -> bytes | None:
        try:
            return (self.project.root / path).read_bytes()
        except OSError:
            return None

    def know(self, path: str, data: bytes) -> None:
        self.seen[path] = digest(data)

    def is_known(self, path: str, data: bytes) -> bool:
        return self.seen.get(path) == digest(data)

    def tree(self) -> DiskTree:
        """The files that git sees, without those that models are not shown."""
        workspace, closed = self.project.workspace, self.withheld
        entries = workspace.files(workspace.snapshot())
        return DiskTree(
            self,
            tuple(entry.path for entry in entries if not secret(entry.path) and entry.path not in closed),
        )

    def judge_sweep(self) -> Deny | None:
        """Denies an open refactor that leaves its scope; None if it has none, or keeps to it."""
        return None if self.sweep is None else self.sweep.deny(touched_files(self.project))

    def has_tests(self) -> bool:
        """Whether the project has a test."""
        tree, classify = self.tree(), self.project.classify
        paths = (path for path in tree if classify(path) is PathClass.TEST)
        return any(test for path in paths for test in written_tests(path, tree[path] or "", ()))

    def is_untested(self) -> bool:
        """Whether the project has source and no test."""
        classes = {self.project.classify(path) for path in self.tree()}
        return PathClass.SOURCE in classes and not self.has_tests()

    def answer(self, text: str) -> str:
        """Prepares a text for the model: takes out keys and what looks like one, and clips it."""
        return clip(hide_keys(self.scrub(text)))


class DiskTree(Mapping[str, "str | None"]):
    """Path → text, read on access; None for a file that is not text, or very large."""

    def __init__(self, bench: Workbench, paths: tuple[str, ...]) -> None:
        self._bench = bench
        self._paths = dict.fromkeys(paths)

    def __getitem__(self, path: str) -> str | None:
        if path not in self._paths:
            raise KeyError(path)
        if (self._bench.project.root / path).is_symlink() and not isinstance(self._bench.locate(path), str):
            return None  # it leads out of the tree, or to a file that is not shown
        data = self._bench.read_bytes(path)
        return read_text(data) if data is not None and len(data) <= 10 * HUGE else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


CLIENT = "code"
LONGEST = 1_800
"""The most seconds that a call may request."""
KEPT = 8_000
"""Bytes of output that are kept at each end."""
_MOST_JOBS = 8


def shell(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    if "job" in given:
        return _look_at_job(bench, given["job"], stop=given.get("stop", False))
    command = given.get("command", "").strip()
    if not command or "\0" in command:
        return answer_failure(
            "command is missing: a line for the shell; or job: a job that was started before."
        )
    argv = [*arguments(bench.project.repo), command]
    env = environment_of(bench.session, bench.scrub.variables)
    if given.get("background", False):
        if len(bench.jobs.running) >= _MOST_JOBS:
            return answer_failure(f"{_MOST_JOBS} jobs have been started: stop one first (job, stop).")
        name = bench.jobs.start(argv, bench.project.root, env)
        return ToolAnswer(f"started as {name}; shell with job: {name} shows its output, with stop ends it.")
    seconds = min(max(1, given.get("seconds", bench.seconds)), LONGEST)
    done = run(Command(tuple(argv), bench.project.root, env), timeout=seconds, kept=KEPT)
    output = done.output.decode(errors="replace").rstrip()
    if done.timed_out:
        text = f"{output}\n(ended after {seconds} s: give it more seconds, or background)".strip()
        return ToolAnswer("\n".join(filter(None, (text, _look_after(bench.project)))), "failed")
    code = done.exit_code if done.exit_code is not None else f"signal {done.signal}"
    return ToolAnswer(f"{output}\n(exit {code})".strip(), "ok" if done.exit_code == 0 else "failed")


def _look_at_job(bench: Workbench, name: str, *, stop: bool) -> ToolAnswer:
    job = bench.jobs.running.get(name)
    if job is None:
        names = ", ".join(bench.jobs.running) or "none was started"
        return answer_failure(f"there is no job {name}: {names}.")
    if stop:
        bench.jobs.stop(name)
    code = job.process.poll()
    output = _ends_of(job.output)
    if code is not None:
        del bench.jobs.running[name]
        job.output.unlink(missing_ok=True)
    state = "runs" if code is None else f"ended: exit {code}"
    looked = _look_after(bench.project) if stop else ""
    return ToolAnswer("\n".join(filter(None, (output, f"({name} {state})", looked))))


def _ends_of(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(KEPT)
        file.seek(max(KEPT, size - KEPT))
        tail = file.read()
    gap = f"\n... {size - 2 * KEPT} bytes left out ...\n".encode() if size > 2 * KEPT else b""
    return (head + gap + tail).decode(errors="replace").rstrip()


def _look_after(project: Project) -> str:
    """Runs the tripwire for a call that was killed before it could do so itself."""
    return after_call(project, agent_alive=alive(str(project.repo.private))).text


def environment_of(session: str, secrets: Collection[str]) -> dict[str, str]:
    """Our environment without the models' keys, and with the session that the commands belong to."""
    usual = {name: given for name, given in os.environ.items() if name not in secrets}
    return usual | {"TDD_CLIENT": CLIENT, OWN_SESSION: session}


def jobs_folder(repo: Repository, session: str) -> Path:
    return repo.private / "sessions" / f"{session}.jobs"
