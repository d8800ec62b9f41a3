"""The protocol of a coding agent's folder, and the agents that can be connected, ours and third parties'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from verdigris.core.errors import UserError
from verdigris.core.value import value
from verdigris.seams import Seam

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.gates.calls import HookAnswer, HookCall, Manner, Reply
    from verdigris.setup.doctor_checks import DoctorFinding
    from verdigris.storage.project import Project


@value
class Hook:
    """One event at which the agent calls us."""

    event: str
    seconds: int
    """The agent's time limit; our command gives up a little earlier."""
    closed: bool
    """Whether no answer is a refusal."""


@value
class Surroundings:
    """What a call does not say itself; `calls.HookCall` has the same fields."""

    confined: bool
    confinable: bool
    guarded: tuple[Path, ...]


@runtime_checkable
class Client(Protocol):
    """One coding agent. A call that cannot be read raises nothing: it is a `HookCall` with a `fault`."""

    @property
    def name(self) -> str:
        """The name in `tdd init --agent NAME`, in `tdd hook NAME` and in the log's actors."""

    @property
    def title(self) -> str:
        """The name that people use."""

    @property
    def hooks(self) -> tuple[Hook, ...]: ...

    def parse(self, raw: bytes, environment: Mapping[str, str]) -> HookCall:
        """Reads one hook call."""

    def manner(self, tool: str) -> Manner:
        """What a tool of the agent does with files; an unknown tool is foreign."""

    def render(self, call: HookCall, reply: Reply) -> HookAnswer:
        """Renders a reply in the agent's format."""

    def fault(self, call: HookCall, what: str, hint: str) -> HookAnswer:
        """Renders a fault of ours: it refuses the agent's call, and never stands in a person's way."""

    def start(self, call: HookCall, environment: Mapping[str, str]) -> str:
        """The folder of the agent's project; empty where neither call nor environment say."""

    def surroundings(self, project: Project, environment: Mapping[str, str]) -> Surroundings: ...

    def guarded(self, environment: Mapping[str, str]) -> tuple[Path, ...]:
        """The agent's own switches outside any worktree, and the files of the gate: no tool writes them."""

    def prefix(self, project: Project) -> str:
        """What the agent puts before its shell commands so that they are confined; empty if it cannot."""

    def confine(self, project: Project) -> None:
        """Write what makes the agent's shell commands run in the sandbox, where that is missing."""

    def plan(self, *, team: bool = False) -> tuple[str, ...]:
        """What `install` will do, a line each."""

    def install(self, project: Project, *, team: bool = False) -> tuple[str, ...]:
        """The files that were written; none where everything was as it should be. Safe to repeat.

        `team`: also those that are committed, for everybody who clones the repository.
        """

    def uninstall(self, project: Project) -> tuple[str, ...]:
        """The files from which something was taken out; nothing that is not ours goes."""

    def cycle_files(self) -> Mapping[str, str]:
        """Path → text of the files by which sub-agents of the agent play a cycle; empty if it has none."""

    def check(self, start: Path) -> DoctorFinding | None:
        """Checks for `tdd doctor`; None where there is no repository."""


BUILT_IN = {"claude": "verdigris.gates.clients.claude.client:CLIENT"}
_SEAM = Seam("verdigris.clients", BUILT_IN)
names = _SEAM.names


def find(name: str) -> Client:
    client = _SEAM.find(name)
    if client is None:
        raise UserError(
            f"this version cannot connect {name} yet.",
            hint=f"`tdd init --agent {' or '.join(names())}`, or without --agent: "
            "`tdd test` and `tdd settle` serve any agent",
        )
    return cast("Client", client)


def clients() -> tuple[Client, ...]:
    return tuple(map(find, names()))
