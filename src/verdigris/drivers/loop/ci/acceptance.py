"""Asks a CI whether it accepts a commit, and decides the next move from its answer.

A CI that cannot be reached is asked again later, and never counts against a program.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from verdigris.core.value import value
from verdigris.drivers.loop.branches.remote import Unreachable
from verdigris.drivers.loop.ci.failure_signature import FailedTest, read_failures, signature_of
from verdigris.drivers.loop.evaluation import command_room
from verdigris.drivers.loop.events import CheckedByCi
from verdigris.execution.process import Command, run
from verdigris.execution.test_run import run_shell_in
from verdigris.storage.project import Project

GH = "gh"
"""The value of `loop: {ci: …}` for the checks of the remote."""
MOST_FIXES = 5
BACK_OFF = (30.0, 120.0, 600.0)
"""Seconds before an unreachable CI is asked again."""
PASSED, FAILED, UNREACHABLE, TIMEOUT = "passed", "failed", "unreachable", "timeout"
_MINUTE = 60.0
_POLL = (10.0, 20.0, 40.0, 60.0)
"""Seconds between two queries; the last value repeats."""
_APPEARS = 5 * _MINUTE
"""The longest wait for the remote to begin a check."""
_CALL = 60.0
_TAIL = 8000
_GOOD = frozenset({"success", "neutral", "skipped", "pass", "skipping"})
_CUT = frozenset({"cancelled", "cancel", "stale"})
_PENDING = frozenset({"pending", ""})


@value
class CiAnswer:
    outcome: str
    """`passed`, `failed`, `unreachable` or `timeout`; `passed`, too, where no CI can be asked."""
    why: str = ""
    """Why there is none to ask, or why it cannot be reached."""
    signature: str = ""
    output: str = ""
    """Both of one that failed."""


# -- a command --------------------------------------------------------------------------------


def ask_command(project: Project, command: str, minutes: float) -> CiAnswer:
    """Runs the command in a room on the worktree, which equals the commit."""
    with command_room(project) as made:
        made.env["CI"] = "true"
        done = run_shell_in(made, project, (command, "ci"), project.root, minutes * _MINUTE)
    if done.timed_out:
        return CiAnswer(TIMEOUT)
    return CiAnswer(PASSED) if done.exit_code == 0 else _failure(os.fsdecode(done.output), done.exit_code)


def _failure(output: str, code: int | None = None, checks: Sequence[str] = ()) -> CiAnswer:
    failures = read_failures(output) or tuple(FailedTest(name, "") for name in checks)
    return CiAnswer(FAILED, signature=signature_of(failures, output, code), output=output[-_TAIL:])


# -- the remote's checks ----------------------------------------------------------------------


@value
class RemoteCheck:
    name: str
    state: str
    """The remote's word for its result; `pending` while it runs."""
    run: str = ""
    """The id of its run, to ask for its log."""


@dataclass(frozen=True)
class GithubChecks:
    """Asks for the checks of a repository through `gh`, with the rights of the person or the job."""

    root: Path
    minutes: float = 60.0
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    def ask(self, commit: str, branch: str) -> CiAnswer:
        """Waits for every check of a pushed commit to end."""
        if shutil.which(GH) is None:
            return CiAnswer(PASSED, "`gh` is not installed, so the remote's checks cannot be asked for")
        begun = self.clock()
        for number in range(10**6):
            checks = self._list(commit, branch)
            if isinstance(checks, Unreachable):
                return CiAnswer(UNREACHABLE, checks.why)
            passed = self.clock() - begun
            if checks and not any(one.state in _PENDING for one in checks):
                return self._judge(checks)
            if not checks and passed >= min(_APPEARS, self.minutes * _MINUTE):
                why = "the remote began no check for it; a push with a job's own token starts no workflow"
                return CiAnswer(UNREACHABLE, f"{commit[:12]}: {why}")
            if passed >= self.minutes * _MINUTE:  # checks that failed are judged although others still run
                failed = [one for one in checks if one.state not in _GOOD | _PENDING | _CUT]
                return self._judge(failed) if failed else CiAnswer(TIMEOUT)
            self.wait(_POLL[min(number, len(_POLL) - 1)])
        return CiAnswer(TIMEOUT)

    def _judge(self, checks: Sequence[RemoteCheck]) -> CiAnswer:
        failed = [one for one in checks if one.state not in _GOOD | _CUT]
        if failed:
            logs = "\n".join(filter(None, (self._log(one) for one in failed)))
            return _failure(logs, checks=[f"{one.name}: {one.state}" for one in failed])
        if cut := [one.name for one in checks if one.state in _CUT]:
            return CiAnswer(UNREACHABLE, f"{', '.join(cut)} was cancelled")
        return CiAnswer(PASSED)

    def _list(self, commit: str, branch: str) -> tuple[RemoteCheck, ...] | Unreachable:
        fields = "databaseId,name,status,conclusion"
        runs = self._call("run", "list", "--commit", commit, "--limit", "100", "--json", fields)
        if isinstance(runs, Unreachable):
            return runs
        known = [
            RemoteCheck(
                str(one.get("name")),
                str(one.get("conclusion") or "") if one.get("status") == "completed" else "pending",
                str(one.get("databaseId") or ""),
            )
            for one in (runs if isinstance(runs, list) else ())
        ]
        return (*known, *self._list_others(commit, branch))

    def _list_others(self, commit: str, branch: str) -> Iterator[RemoteCheck]:
        """Checks of other services: only a pull request of exactly this commit lists them."""
        seen = self._call("pr", "view", branch, "--json", "headRefOid")
        if not isinstance(seen, dict) or seen.get("headRefOid") != commit:
            return
        found = self._call("pr", "checks", branch, "--json", "name,bucket,workflow")
        for one in found if isinstance(found, list) else ():
            if isinstance(one, dict) and not one.get("workflow"):
                yield RemoteCheck(str(one.get("name")), str(one.get("bucket") or ""))

    def _log(self, check: RemoteCheck) -> str:
        if not check.run:
            return ""
        code, said = self._run("run", "view", check.run, "--log-failed")
        return said if code == 0 else ""

    def _call(self, *words: str) -> Any:
        """The JSON that `gh` prints, or `Unreachable`."""
        code, said = self._run(*words)
        try:
            return json.loads(said)  # `gh pr checks` ends with 1 or 8 where checks failed or run
        except ValueError:
            told = [line.strip() for line in said.splitlines() if line.strip()]
            return Unreachable(f"gh {words[0]} {words[1]}: {told[0] if told else f'exit code {code}'}")

    def _run(self, *words: str) -> tuple[int | None, str]:
        env = {**os.environ, "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1", "GH_NO_UPDATE_NOTIFIER": "1"}
        done = run(Command((shutil.which(GH) or GH, *words), self.root, env), timeout=_CALL)
        said = os.fsdecode(done.output)
        return (None, f"it did not answer within {_CALL:g} s") if done.timed_out else (done.exit_code, said)


# -- the next move -----------------------------------------------------------------------------


@value
class Accept:
    note: str = ""


@value
class Fix:
    """One more attempt to make the CI pass."""

    attempt: int


@value
class Pause:
    reason: str


@value
class AskAgain:
    """Ask again after so many seconds."""

    seconds: float


@value
class AskLater:
    """The next run asks again; the iteration stays open."""

    why: str


def follow_answer(
    answer: CiAnswer, before: Sequence[CheckedByCi]
) -> Accept | Fix | Pause | AskAgain | AskLater:
    """`before`: the earlier answers in this iteration, the oldest first."""
    match answer.outcome:
        case "passed":
            return Accept(answer.why)
        case "timeout":
            return Pause("ci-timeout")
        case "failed":
            failed = [check for check in before if check.outcome == FAILED]
            if failed and failed[-1].signature == answer.signature:
                return Pause(f"stuck in CI fix loop: {answer.signature}")
            if len(failed) >= MOST_FIXES:
                return Pause(f"ci-fix-exhausted: {answer.signature}")
            return Fix(len(failed) + 1)
        case _:
            tried = len(tuple(takewhile(lambda check: check.outcome == UNREACHABLE, reversed(before))))
            return AskAgain(BACK_OFF[tried]) if tried < len(BACK_OFF) else AskLater(answer.why)
