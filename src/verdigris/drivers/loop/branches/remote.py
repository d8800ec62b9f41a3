"""Fetches branches from a remote of the repository, and pushes there without removing people's commits.

A remote that cannot be reached is a value, `Unreachable`: the loop goes on, and tries again the next time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from verdigris.core.value import value
from verdigris.execution.process import Command, run
from verdigris.storage.git import REDIRECTING, git, program

LONGEST = 120.0
"""Seconds that one conversation with a remote may take."""
BACK_OFF = (1.0, 5.0)
"""Seconds between two tries. After the last the remote counts as unreachable until the next iteration."""
_NO_BRANCH = 2
"""Exit code of `git ls-remote --exit-code`."""
_MOVED = re.compile(r"^!\t.*\[rejected\]", re.MULTILINE)
_REFUSED = re.compile(r"^!\t.*\[remote rejected\] ?(.*)$", re.MULTILINE)
_TOLD = re.compile(r"^(?:fatal|error|remote|ssh): ?(.+)$", re.MULTILINE)


@value
class GitRemote:
    """A configured remote, by name."""

    name: str
    back_off: Sequence[float] = BACK_OFF
    wait: Callable[[float], None] = time.sleep
    timeout: float = LONGEST


@value
class Tip:
    """The commit of a branch on the remote; its objects have been fetched."""

    commit: str


@value
class NoBranch:
    """The remote has no such branch."""


@value
class Unreachable:
    """A failure of infrastructure: it never counts against a program, and is tried again the next time."""

    why: str


@value
class Pushed:
    commit: str


@value
class RemoteMoved:
    """Somebody pushed meanwhile: fetch, merge, push again."""

    why: str = "the remote moved meanwhile"


@value
class PushRefused:
    """The remote refused the push: a protected branch, a hook, or a missing right."""

    why: str


def fetch_tip(root: Path, remote: GitRemote, branch: str) -> Tip | NoBranch | Unreachable:
    """Tries twice at most: it is called again before the next iteration."""
    ref = f"refs/heads/{branch}"
    why = ""
    for delay in (*remote.back_off[:1], None):
        code, said = _converse(root, remote, "ls-remote", "--exit-code", "--heads", remote.name, ref)
        if code == _NO_BRANCH:
            return NoBranch()
        if code == 0:
            tracking = f"refs/remotes/{remote.name}/{branch}"
            spec = f"+{ref}:{tracking}"
            code, said = _converse(root, remote, "fetch", "--quiet", "--no-tags", remote.name, spec)
        if code == 0:
            return Tip(git(root, "rev-parse", "--verify", "--quiet", tracking).out.strip())
        why = _gist(said)
        if delay is not None:
            remote.wait(delay)
    return Unreachable(f"{remote.name}: {why}")


def push_commit(
    root: Path, remote: GitRemote, commit: str, branch: str, lease: str = ""
) -> Pushed | RemoteMoved | PushRefused | Unreachable:
    """Pushes only forward: git refuses a push that would remove commits.

    `lease` is the one head of the remote that may be replaced, if it has not moved.
    """
    why = ""
    ref = f"refs/heads/{branch}"
    words = ("--porcelain", *((f"--force-with-lease={ref}:{lease}",) if lease else ()))
    for delay in (*remote.back_off, None):
        code, said = _converse(root, remote, "push", *words, remote.name, f"{commit}:{ref}")
        if code == 0:
            return Pushed(commit)
        if refused := _REFUSED.search(said):
            return PushRefused(f"{remote.name} refused {branch}: {refused[1].strip('() ') or _gist(said)}")
        if _MOVED.search(said):
            return RemoteMoved()
        why = _gist(said)
        if delay is not None:
            remote.wait(delay)
    return Unreachable(f"{remote.name}: {why}")


def _converse(root: Path, remote: GitRemote, *words: str) -> tuple[int, str]:
    """Runs git with the user's configuration and keys, without prompts, and with a time limit."""
    kept = {name: said for name, said in os.environ.items() if name not in REDIRECTING}
    env = {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GCM_INTERACTIVE": "never",
    }
    done = run(Command((program(env), *words), root, env), timeout=remote.timeout)
    said = os.fsdecode(done.output)
    if done.timed_out:
        return 124, f"fatal: it did not answer within {remote.timeout:g} s"
    return done.exit_code if done.exit_code is not None else 1, said


def _gist(said: str) -> str:
    """The first line in which git or the remote says what went wrong."""
    found = _TOLD.search(said)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return found[1].strip() if found else lines[-1] if lines else "git does not say why"
