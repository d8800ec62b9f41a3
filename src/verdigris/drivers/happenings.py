"""What a run tells its watchers, as values; the live view, plain lines and JSON are made of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class Happening:
    """Anything that is told."""


@value
class RunBegan(Happening):
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
class CycleBegan(Happening):
    cycle: str
    spec: str
    spec_path: str
    stage: str
    resumed: bool
    worktree: str
    branch: str
    models: tuple[tuple[str, str], ...]
    """Role and who plays it."""
    replay: bool = False


@value
class ProgramBegan(Happening):
    program: str
    strategy: str
    branch: str
    worktree: str
    resumed: bool
    """An iteration is taken up where a run before left it."""
    models: tuple[tuple[str, str], ...]
    """Role and who plays it."""
    replay: bool = False
    harness: tuple[str, ...] = ()
    """The status of each pinned behaviour, the oldest first."""
    metrics: tuple[float, ...] = ()
    """Of the accepted iterations, the oldest first."""
    target_metric: float | None = None


@value
class IterationBegan(Happening):
    program: str
    number: int
    choice: str
    """`new`, `failing` (a red that was left) or `rethink`."""
    target: str = ""


@value
class PhaseBegan(Happening):
    """A part of an iteration, also one that no role plays: `commit`, `evaluate`, `accept`."""

    program: str
    iteration: int
    phase: str


@value
class IterationDone(Happening):
    program: str
    number: int
    status: str
    change: str = ""
    target: str = ""
    commit: str = ""
    metric: float | None = None
    previous: float | None = None
    notes: tuple[str, ...] = ()
    harness: tuple[str, ...] = ()
    """The status of each pinned behaviour, the oldest first."""
    metrics: tuple[float, ...] = ()
    """Of the accepted iterations, the oldest first."""


@value
class DaemonRests(Happening):
    until: str
    """As ISO 8601, or earlier where a person stops it."""
    why: str


@value
class DaemonEnded(Happening):
    why: str
    runs: int
    """That it made."""


@value
class StepBegan(Happening):
    step: int
    role: str
    player: str
    attempts: int
    """The most there may be."""
    phase: str = ""
    """Of a program's iteration."""


@value
class Attempted(Happening):
    step: int
    role: str
    attempt: int


@value
class Asked(Happening):
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
    cache_known: bool = True
    """Whether the server said how much was cached."""
    cost: float | None = None
    """Of the run so far; None: no prices are configured."""


@value
class Delayed(Happening):
    """A server has to be waited for: over its limit, silent, or gone."""

    why: str


@value
class Refused(Happening):
    step: int
    role: str
    attempt: int
    why: str


@value
class StepEnded(Happening):
    step: int
    role: str
    outcome: str
    """`committed`, `nothing-to-do`, `sent-back`, `blocked`, …"""
    why: str = ""
    commit: str = ""
    subject: str = ""
    verdict: str = ""
    concerns: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """Of whoever wrote tests: each new red, a line each for its id, the line that fails, and what it says."""
    diff: str = ""
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    """Tokens of the step, of all its calls."""


@value
class Noted(Happening):
    text: str


@value
class Told(Happening):
    """What a verb of the kernel said."""

    lines: tuple[str, ...]


@value
class YourTurn(Happening):
    """A person plays this step."""

    step: int
    role: str
    what: tuple[str, ...]


@value
class RunEnded(Happening):
    outcome: str
    why: str = ""
    steps: int = 0
    commits: tuple[str, ...] = ()
    tokens: int = 0
    cached: int = 0
    uncached: int = 0
    """Of the prompts, what no cache had."""
    prefix: float = 0.0
    following: str = ""
    """The next move."""
    points: tuple[str, ...] = ()
    """Of the kata, that no test shows by what the testers said."""
    lines: tuple[str, ...] = ()
    """Of the source, that no test runs; looked for when the kata is done."""
    cost: float | None = None
    """None: no prices are configured."""
    program: str = ""
    """Of which it was a run; its `steps` are iterations."""


@value
class SessionBegan(Happening):
    """A session of `tdd code`; the first event of its stream."""

    session: str
    model: str
    resumed: bool
    worktree: str
    task: str = ""
    replay: bool = False


@value
class ModelSpoke(Happening):
    """What a model says beside its calls."""

    turn: int
    text: str


@value
class ModelWrote(Happening):
    """Lines of what a model says, as they come; after a `Delayed` anew. `ModelSpoke` has all of it."""

    text: str


@value
class CallMade(Happening):
    """A model wants a tool to be called; those of one reply are told before the first is carried out."""

    turn: int
    call: str
    """Its name in the session."""
    tool: str
    arguments: str
    """JSON."""


@value
class CallBegan(Happening):
    """Nothing is in the call's way any more: its arguments can be read, and who has to say yes has."""

    turn: int
    call: str


@value
class ToolCalled(Happening):
    turn: int
    tool: str
    about: str
    """Its arguments, as JSON."""
    outcome: str
    """`ok`, `denied`, `failed` or `suppressed`."""
    told: str
    """What the model is answered."""
    call: str = ""
    """As in `CallMade`."""


@value
class PlanShown(Happening):
    lines: tuple[str, ...]


@value
class TurnJudged(Happening):
    turn: int
    verdict: str
    footer: str
    accepted: tuple[str, ...] = ()
    aside: str = ""
    """Where a repair begins: what was set aside."""


@value
class SessionEnded(Happening):
    session: str
    outcome: str
    text: str
    """The result, for a person."""
    why: str = ""
    turns: int = 0
    tokens: int = 0
    cached: int | None = None
    """None: the server does not say."""
    uncached: int | None = None
    completion: int = 0
    prefix: float = 0.0
    cost: float | None = None
    """None: no prices are configured."""
    seconds: float = 0.0
    following: str = ""


class Watcher(Protocol):
    def __call__(self, happening: Happening, /) -> None: ...


def scrub_events(watch: Watcher, scrub: Callable[[str], str]) -> Watcher:
    """No key reaches a screen or a pipe, whoever repeats it."""

    def tell(happening: Happening) -> None:
        texts: dict[str, Any] = {}
        for f in fields(happening):
            match getattr(happening, f.name):
                case str(text):
                    texts[f.name] = scrub(text)
                case (str(), *_) as several:
                    texts[f.name] = tuple(map(scrub, several))
        watch(replace(happening, **texts))

    return tell
