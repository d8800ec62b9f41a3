"""Hook calls and replies as values that no client's format leaks into, and where a call's paths lead."""

from __future__ import annotations

import os
import re
import unicodedata
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from verdigris.core.errors import VerdigrisError
from verdigris.core.records import Actor
from verdigris.core.value import value
from verdigris.storage.project import Project, open_project
from verdigris.storage.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.turns.write import Rewrite


class Moment(StrEnum):
    BEFORE = "before"
    AFTER = "after"
    FAILED = "failed"
    STOP = "stop"
    SUBAGENT_START = "subagent-start"
    SUBAGENT_STOP = "subagent-stop"
    START = "start"
    PROMPT = "prompt"
    OTHER = "other"
    """One that is known to be no tool call."""
    JUNK = "junk"


class Manner(StrEnum):
    """What a tool does with files."""

    WRITES = "writes"
    READS = "reads"
    SHELL = "shell"
    """It runs a command through the client's shell prefix."""
    OWN = "own"
    """The client's own, which writes no file by itself."""
    FOREIGN = "foreign"
    """Unknown: a tool of a server, or one that is newer than this version."""


@value
class HookCall:
    moment: Moment
    actor: Actor = Actor("agent", "", "")
    session: str = ""
    """The client's id of the session, its subagents included."""
    cwd: str = ""
    tool: str = ""
    manner: Manner = Manner.FOREIGN
    source: str = ""
    """What is remembered as allowed when a person allows the tool: its server, or the tool itself."""
    writes: Mapping[str, Rewrite | None] | None = None
    """Path as it is spelled → the rewrite of that file; None if the call of a writing tool cannot be read."""
    strings: tuple[str, ...] | None = ()
    """Every string in the arguments, however deep; None if there are too many."""
    attended: bool = True
    """A person can be asked."""
    confined: bool = False
    """Shell commands of this client go through our prefix."""
    confinable: bool = True
    """The system allows the sandbox that the prefix makes."""
    guarded: tuple[Path, ...] = ()
    """Switches of the client and of the gate that lie outside any worktree."""
    subagent: bool = False
    command: str = ""
    """What a shell tool runs."""
    again: bool = False
    """The agent is still going on because an earlier stop was refused."""
    most_refusals: int = 8
    """Stops in a row that the client lets a hook refuse."""
    stopped: tuple[str, ...] = ()
    """Keys of `SIGNS` that a tool printed: the sandbox stopped it."""
    prompt: str = ""
    said: str = ""
    """The agent's last message, at a stop."""
    nested: bool = False
    """The client itself was started by an agent's shell call."""
    fault: str = ""
    """Why it cannot be understood."""


@value
class Reply:
    """The gate's reply; an empty one allows the call and leaves the user's own rules in force."""

    kind: Literal["pass", "deny", "ask", "send-back", "answered"] = "pass"
    text: str = ""
    """For the model; for the person where they are asked or answered."""
    note: str = ""
    """For the person."""
    open: tuple[str, ...] = ()
    """At a stop: what is left open, a line each."""
    notes: tuple[str, ...] = ()
    """At a stop: what a person should know beside it."""


@value
class HookAnswer:
    """What a hook process gives back."""

    exit_code: Literal[0, 2]
    stdout: str = ""
    stderr: str = ""


PASS = Reply()
NO_PRIVILEGES = "no new privileges"
SIGNS = {
    "Read-only file system": (
        "that path is read-only in this phase. next: `tdd status` names the move that is allowed."
    ),
    "Device or resource busy": (
        "a test there is frozen from claim to verdict. next: make source pass it, or report it by "
        "tdd test-bug, with its file, line and why."
    ),
    NO_PRIVILEGES: "`sudo` does not work in an agent's shell. next: ask the user to run the command.",
}
"""What tools print when the sandbox stops them, and the explanation for the model."""
EXPLAINED = b"is read-only in an agent's shell; a person may allow it"
"""The shell said more already (gates/agent_shell/write_failure.py)."""


LONGEST = 4096
_GLOB = frozenset("*?[{")
_LETTER = re.compile(r"\[([^]!^])\]")
_FILE = re.compile("file:(?://[^/]*)?(?=/)", re.IGNORECASE)


def readings(spelling: str) -> tuple[str, ...]:
    """The paths that a tool may make of a spelling: trimmed, `~` and `file:` resolved, decoded, composed."""
    trimmed = spelling.strip().strip("\ufeff").strip()
    found = {spelling: None, trimmed: None, unicodedata.normalize("NFC", trimmed): None}
    if trimmed.startswith("~"):
        found[os.path.expanduser(trimmed)] = None  # noqa: PTH111 - a spelling, not yet a path
    if (url := _FILE.match(trimmed)) is not None:
        found[unquote(trimmed[url.end() :])] = None
    elif "%" in trimmed:
        found |= dict.fromkeys((unquote(trimmed), unquote(unquote(trimmed))))
    return tuple(name for name in found if is_name(name))


def is_name(text: str) -> bool:
    """Whether the system could take it for a path."""
    try:
        return 0 < len(os.fsencode(text)) < LONGEST and "\0" not in text
    except UnicodeEncodeError:
        return False


def resolve(spelling: str, cwd: Path) -> Path:
    return Path(os.path.realpath(os.path.join(cwd, spelling)))  # noqa: PTH118 - as the client's system will read it


def home(project: Project, spelling: str, cwd: Path) -> Project:
    """The worktree of this repository that the path lies in, each with a phase of its own."""
    try:
        repo = find_repository(_folder(resolve(spelling, cwd)))
        if repo.common_dir != project.repo.common_dir or repo.root == project.root:
            return project
        return open_project(repo.root, project.actor)
    except VerdigrisError:
        return project


def _folder(path: Path) -> Path:
    """The nearest folder above that exists."""
    return next(folder for folder in path.parents if folder.is_dir()) if path.parents else path


def is_switch(project: Project, spelling: str, cwd: Path, guarded: Iterable[Path]) -> bool:
    """Whether it lies in the git folder that all worktrees share, or is a file that the gate depends on."""
    path = resolve(spelling, cwd)
    around = {path, *path.parents}
    return any(place in around for place in (project.repo.common_dir, *guarded))


def is_control(project: Project, spelling: str, cwd: Path) -> bool:
    """Whether reading this path may show held-out tests: it is in the control area, or right above it."""
    spelling = _LETTER.sub(r"\1", spelling)
    fixed = spelling[: next((i for i, c in enumerate(spelling) if c in _GLOB), len(spelling))]
    path = resolve(fixed or ".", cwd)
    control = project.repo.control
    return path == control or control in path.parents or path == project.repo.common_dir
