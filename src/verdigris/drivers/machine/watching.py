"""What a run tells those who watch it, as values: a live view, plain lines and JSON are made of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class RunBegan:
    first: int
    last: int
    resumed: bool
    worktree: str
    """Where the machine works."""
    branch: str
    models: tuple[tuple[str, str], ...]
    """Role and who plays it."""
    replay: bool = False


@value
class StepBegan:
    step: int
    role: str
    player: str
    attempts: int
    """The most there may be."""


@value
class Attempted:
    step: int
    role: str
    attempt: int


@value
class Asked:
    """A model has answered."""

    step: int
    role: str
    prompt: int
    cached: int
    completion: int
    prefix: float
    """Share of the prompt that is a prefix of the call before."""
    total: int
    """Tokens of the run so far."""


@value
class Delayed:
    """A server has to be waited for: over its limit, silent, or gone."""

    why: str


@value
class Refused:
    step: int
    role: str
    attempt: int
    why: str


@value
class StepEnded:
    step: int
    role: str
    outcome: str
    """`committed`, `nothing-to-do`, `sent-back`, `blocked`, …"""
    why: str = ""
    commit: str = ""
    subject: str = ""
    verdict: str = ""


@value
class Noted:
    text: str


@value
class YourTurn:
    """A person plays this step."""

    step: int
    role: str
    what: tuple[str, ...]


@value
class RunEnded:
    outcome: str
    why: str = ""
    steps: int = 0
    commits: tuple[str, ...] = ()
    tokens: int = 0
    cached: int = 0
    prefix: float = 0.0
    following: str = ""
    """The next move."""


Happening: TypeAlias = (
    RunBegan | StepBegan | Attempted | Asked | Delayed | Refused | StepEnded | Noted | YourTurn | RunEnded
)


class Watcher(Protocol):
    def __call__(self, happening: Happening, /) -> None: ...


def scrubbed(watch: Watcher, scrub: Callable[[str], str]) -> Watcher:
    """No key reaches a screen or a pipe, whoever repeats it."""

    def told(happening: Happening) -> None:
        texts: dict[str, Any] = {
            f.name: scrub(text)
            for f in fields(happening)
            if isinstance(text := getattr(happening, f.name), str)
        }
        watch(replace(happening, **texts))

    return told


def unwatched(_: Happening) -> None:
    """Where nobody watches."""
