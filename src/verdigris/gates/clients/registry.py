"""What the folder of a coding agent gives, and the agents that can be connected, ours and third parties'."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from verdigris.core.errors import UserError
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from verdigris.gates.calls import HookAnswer, HookCall, Manner, Reply
    from verdigris.setup.doctor_checks import DoctorFinding
    from verdigris.storage.project import Project


@value
class Hook:
    """One event that the agent tells us of."""

    event: str
    seconds: int
    """What the agent allows; the wrapper gives up a little earlier."""
    closed: bool
    """Whether no answer is a refusal."""


@value
class Surroundings:
    """What a call cannot say of itself (`calls.HookCall` has the same fields)."""

    confined: bool
    confinable: bool
    guarded: tuple[Path, ...]


@runtime_checkable
class Client(Protocol):
    """One coding agent. Everything is total: a call that cannot be read is a `Call` that says so."""

    @property
    def name(self) -> str:
        """The name in `tdd init --agent NAME`, in `tdd hook NAME` and in the log's actors."""

    @property
    def title(self) -> str:
        """The name that people use."""

    @property
    def hooks(self) -> tuple[Hook, ...]: ...

    def parse(self, raw: bytes, environment: Mapping[str, str]) -> HookCall:
        """One hook call, in words of our own."""

    def manner(self, tool: str) -> Manner:
        """What a tool of the agent does with files; a tool that nobody knows is foreign."""

    def render(self, call: HookCall, reply: Reply) -> HookAnswer:
        """A reply in the agent's dialect."""

    def fault(self, call: HookCall, what: str, hint: str) -> HookAnswer:
        """Our own fault: a refusal for the agent, and no obstacle for a person."""

    def start(self, call: HookCall, environment: Mapping[str, str]) -> str:
        """The folder of the agent's project; empty where neither call nor environment say."""

    def surroundings(self, project: Project, environment: Mapping[str, str]) -> Surroundings: ...

    def guarded(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """The agent's own switches outside any worktree, and the files of the gate: no tool writes them."""

    def prefix(self, project: Project) -> str:
        """What the agent puts before its shell commands so that they are confined; empty: it has no such."""

    def confine(self, project: Project) -> None:
        """Write what makes the agent's shell commands run in the sandbox, where that is missing."""

    def plan(self) -> tuple[str, ...]:
        """What `install` will do, a line each."""

    def install(self, project: Project) -> tuple[str, ...]:
        """The files that were written; none where everything was as it should be. Safe to repeat."""

    def uninstall(self, project: Project) -> tuple[str, ...]:
        """The files from which something was taken out; nothing that is not ours goes."""

    def cycle_files(self) -> Mapping[str, str]:
        """Path → text of what lets the agent play a cycle by sub-agents of its own; empty: it has no such."""

    def check(self, start: Path) -> DoctorFinding | None:
        """Checks for `tdd doctor`; None where there is no repository."""


GROUP = "verdigris.clients"
"""Entry points of other packages: the agent's name, and the object that is its `Client`."""
BUILT_IN = {"claude": "verdigris.gates.clients.claude.client"}
"""Modules whose `CLIENT` it is; loaded when it is asked for."""


def names() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*BUILT_IN, *(point.name for point in _points()))))


def find(name: str) -> Client:
    if name in BUILT_IN:
        return cast("Client", import_module(BUILT_IN[name]).CLIENT)
    for point in _points():
        if point.name == name:
            return cast("Client", point.load())
    raise UserError(
        f"this version cannot connect {name} yet.",
        hint=f"`tdd init --agent {' or '.join(names())}`, or without --agent: "
        "`tdd test` and `tdd settle` serve any agent",
    )


def clients() -> tuple[Client, ...]:
    return tuple(map(find, names()))


def _points() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))
