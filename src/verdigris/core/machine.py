"""What `tdd.yaml` says about the machine: who plays which role, within which limits, and in whose name."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import ConcernRule, UncoveredRule

Squash = Literal["step", "cycle"]
"""Whether red, green and refactor become one commit."""

ROLES = ("tester", "implementor", "refactorer")
HUMAN = "human"
REPLAY = "replay:"
"""Before the name of a recorded conversation."""


@value
class Served:
    """Where a model is had, and how it is asked; empty or None: as the provider is used to."""

    base_url: str = ""
    api_key_env: str = ""
    """The name of the variable; its value is nowhere but in the environment."""
    temperature: float | None = None
    timeout: float | None = None
    """Seconds without a word from the server."""
    max_tokens: int | None = None


AS_USUAL = Served()


@value
class Player:
    """Who plays a role."""

    model: str = ""
    """`provider:name`, a name that `llm.base_url` serves, `human`, or `replay:FILE`."""
    served: Served = AS_USUAL

    @property
    def human(self) -> bool:
        return self.model == HUMAN

    @property
    def replayed(self) -> str | None:
        """The recording that answers for it."""
        return self.model.removeprefix(REPLAY) if self.model.startswith(REPLAY) else None


@value
class MachineSettings:
    kata: str = "kata.md"
    """From the worktree's root (`machine.kata_description`)."""
    steps: int = 20
    attempts: int = 5
    """Of one role at one step (`machine.max_attempts_per_agent`)."""
    sandbox: bool = True
    """Work in a private worktree; not where a person plays a role."""
    refactor_files: int = 8
    """The most files that one refactor may touch."""
    refactor_lines: int = 400
    """The most lines that it may add and take away, together."""
    coverage_guard: bool = True
    """Refuse a refactor that leaves more of the source unexecuted than it found."""
    share: tuple[str, ...] = ()
    """Ignored paths that the private worktree needs too, besides the usual environments."""
    prompt_tokens: int = 24_000
    """What a prompt may hold of kata, files and history."""
    uncovered: UncoveredRule = "block"
    """Whether new source lines that no test runs refuse an implementor's step."""
    expected_literals: ConcernRule = "block"
    """Whether source that looks up what the tests expect refuses it."""
    tests_per_step: int = 1
    """New test functions of one tester's step; the cases of a parametrised one count as one."""
    test_seconds: int = 60
    """What one step may add to the time that the suite took before; a test that hangs ends then."""
    roles: Mapping[str, Player] = field(default_factory=dict)
    llm: Served = AS_USUAL
    author_name: str = "TDD Machine"
    author_email: str = "tdd-machine@localhost"
    squash: Squash = "step"
    """`cycle`: red, green and refactor become one commit (`commit.squash`)."""
    tokens: int = 0
    """The most that one `tdd run` may use; 0: no limit (`budget.tokens`)."""

    def player(self, role: str) -> Player:
        return self.roles.get(role, Player())
