"""The actions that an actor asks for, with the facts observed around them, and the decision on one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from verdigris.core.paths import PathClass
    from verdigris.core.state import Red


@value
class FileWrite:
    path: str | None
    """Canonical, relative to the worktree's root; None when it lies outside."""
    cls: PathClass
    before: bytes | None
    after: bytes | None
    spelling: str = ""
    """As the actor named it."""
    beyond_stubs: str | None = None
    """For source: why the change is more than stubs; empty if it is not, None if that was not checked."""
    stub: str = ""
    """A stub of what the change adds, ready to paste, that would be allowed."""
    changes_oracle: bool = False
    """Whether it changes the oracle's part of a mixed file: the runner's keys, or tests among source."""
    only_tests: bool = False
    """A source file that only tests load, so that all of it counts as a test."""


@value
class Write:
    files: tuple[FileWrite, ...]


@value
class Target:
    path: str | None
    """Canonical; a folder or a glob stands for what it holds."""
    classes: frozenset[PathClass]
    spelling: str = ""


@value
class Unclaimed:
    """A source path that differs from the ground by more than stubs."""

    path: str
    line: int
    why: str


@value
class ClaimTest:
    test_id: str
    targets: tuple[Target, ...]
    moved: tuple[str, ...] = ()
    """Oracle and source paths that changed since the red it would cite."""
    unclaimed: tuple[Unclaimed, ...] = ()
    drift: tuple[str, ...] = ()
    """Oracle paths that changed since the turn froze them."""
    nearest: tuple[str, ...] = ()
    """Open reds that look like it, where it is not one."""
    passing: bool = False
    """Its last run passed."""
    written: bool = True
    """Its file exists, so that it can be run."""
    weakened: tuple[str, ...] = ()
    """What the suite lost since the last acceptance without a recorded reason."""
    noted: tuple[str, ...] = ()
    """Changes of its assertions since then that are no losses."""


@value
class BlockTests:
    """A driver gave up on these tests, and the kernel is to mark them as skipped."""

    test_ids: tuple[str, ...]
    passed: tuple[str, ...] = ()
    """Those that an acceptance or a whole run saw pass."""
    moved: tuple[str, ...] = ()
    unclaimed: tuple[Unclaimed, ...] = ()
    weakened: tuple[str, ...] = ()
    """These three have the meaning that they have in `ClaimTest`."""


Verb: TypeAlias = Literal[
    "settle",
    "refactor begin",
    "refactor end",
    "refactor abort",
    "test-bug",
    "aside",
    "restore",
    "sync",
    "holdout",
    "on",
    "off",
]


@value
class Do:
    """A verb that moves the phases. The state alone decides whether it is allowed."""

    verb: Verb
    subject: str = ""
    unclaimed: tuple[Unclaimed, ...] = ()
    free: bool = False
    """For `restore`: the edits may come back in red too."""


Action: TypeAlias = Write | ClaimTest | BlockTests | Do


@value
class Allow:
    claims: tuple[Red, ...] = ()
    """Reds that this write claims by implication."""
    joins: tuple[str, ...] = ()
    """Paths outside the targets that join the open claims as implied."""


@value
class Deny:
    rule: str
    reason: str
    next: str

    def lines(self) -> tuple[str, str, str]:
        return (f"denied [{self.rule}]", self.reason, f"next: {self.next}")


Decision: TypeAlias = Allow | Deny
