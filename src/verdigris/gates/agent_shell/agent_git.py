"""Runs git for an agent's `tdd sync`: confined, and without leaving processes behind.

Tests and source are writable for this one move of git's. A process that outlived it would keep that right, so
all that git started is killed at its end; what cannot be killed stays in the record of open calls.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.confinement.protection import is_writable
from verdigris.core.state import Phase
from verdigris.execution.process import Descendants
from verdigris.gates.agent_shell.confinement import confine
from verdigris.gates.agent_shell.protection import find_way, protection, regions
from verdigris.sandbox import processes, strength
from verdigris.storage.calls import call_records
from verdigris.storage.git import run_openly
from verdigris.storage.repository import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verdigris.storage.project import Project

TODO = "rebase-merge/git-rebase-todo"


def refusal(project: Project, argv: Sequence[str]) -> Deny | None:
    """Why git does not run outside the shell: it would start a program that is not git's own."""
    asked = f"`git {' '.join(argv)}`"
    person = f"leave it out, or ask the person to run `tdd sync -- {' '.join(argv)}`"
    if word := starting_word(argv):
        return Deny(
            "git-starts-a-program", f"{asked} is refused: `{word}` makes git start a program.", person
        )
    if argv[0] == "rebase" and _has_exec(project):
        return Deny(
            "git-starts-a-program",
            "The rebase in progress has `exec` steps, which start programs.",
            "take them out of its list (`git rebase --edit-todo`), then repeat the command",
        )
    return None


def _has_exec(project: Project) -> bool:
    try:
        return has_exec(os.fsdecode(read_plain(project.repo.git_dir / TODO)))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # it may say anything when git reads it


def run(project: Project, argv: Sequence[str], *, quiet: bool) -> tuple[int, str]:
    """Git's exit code, and its output if it is not shown."""
    known = regions(project, Phase.OFF)
    programs = [p for p in os.environ.get("PATH", "").split(":") if p.startswith("/")]
    env = plain_environment(
        os.environ, [path for path in programs if not is_writable(os.path.realpath(path), known)]
    )
    private = str(project.repo.private)
    record = call_records.open_record(private, f"tdd sync -- {' '.join(argv)}", project.context)
    descendants = Descendants()
    try:
        enter = _confine_call(project, record)
        return run_openly(project.root, argv, env, quiet=quiet, stdin=subprocess.DEVNULL, enter=enter)
    finally:
        alone = descendants.end()
        call_records.end(private, alone=alone)
        os.close(record)


def _confine_call(project: Project, record: int) -> Callable[[], None] | None:
    planned = protection(project, Phase.OFF)
    way = find_way(planned)
    strength.require(str(project.repo.control), {strength.SHELL: way or ""})
    if way is None:
        return None

    def enter() -> None:
        confine(planned, way)
        call_records.note_namespace(record, processes.namespace(user_namespace=way != "plain"))

    return enter


LONG = ("--exec", "--upload-pack", "--receive-pack")
STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
"""Any other is a program `git-merge-NAME`."""
_MERGING = frozenset({"merge", "pull", "rebase"})
_EXEC = re.compile(r"-[A-Za-z]*x.*", re.DOTALL)
_TRANSPORT = re.compile(r"[A-Za-z0-9+.-]+::.*", re.DOTALL)
_TODO = re.compile(r"^\s*(?:exec|x)\s", re.MULTILINE)
KEPT = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_CONFIG_GLOBAL")


def starting_word(argv: Sequence[str]) -> str | None:
    """The first word that names a program to start; git takes a beginning of a long option for the whole."""
    verb, *words = argv
    for before, word in zip(("", *words), words, strict=False):
        name = word.partition("=")[0]
        if name.startswith("--") and name != "--" and any(option.startswith(name) for option in LONG):
            return word
        if verb == "rebase" and _EXEC.fullmatch(word):
            return word
        if _TRANSPORT.fullmatch(word):
            return word
        if verb in _MERGING and (strategy := _strategy(before, word)) and strategy not in STRATEGIES:
            return word
    return None


def _strategy(before: str, word: str) -> str | None:
    if before in {"-s", "--strategy"}:
        return word
    for prefix in ("--strategy=", "-s"):
        if word.startswith(prefix) and word != "-s":
            return word.removeprefix(prefix)
    return None


def has_exec(todo: str) -> bool:
    """Whether the list of a rebase's steps, which lies in a folder that an agent writes, starts a program."""
    return _TODO.search(todo) is not None


def plain_environment(environment: Mapping[str, str], programs: Iterable[str]) -> dict[str, str]:
    """Keeps who commits and how a server is reached, and drops what else steers git. `programs` is PATH."""
    kept = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name.startswith(KEPT)
    }
    steered = {"core.hooksPath": "/dev/null", "core.fsmonitor": "false", "protocol.ext.allow": "never"}
    for number, (key, setting) in enumerate(steered.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": setting}
    return kept | {
        "PATH": ":".join(programs),
        "GIT_CONFIG_COUNT": str(len(steered)),
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "GIT_EDITOR": ":",  # nobody sits before it: a merge that goes on keeps git's own message
    }
