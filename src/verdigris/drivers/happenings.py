"""What a run tells its watchers, as values; views render them as a live view, lines or JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar

from verdigris.core.events import Event
from verdigris.core.value import value


@value
class Happening:
    """The base of all happenings."""


Said = TypeVar("Said", bound=Happening | Event)


@value
class OfStep(Happening):
    step: int
    role: str


@value
class RunBegan(Happening):
    first: int
    last: int
    resumed: bool
    worktree: str
    """The folder that the machine works in."""
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
    """It continues an iteration that an earlier run left open."""
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
    """`new`, `failing` (a red that an earlier iteration left) or `rethink`."""
    target: str = ""


@value
class PhaseBegan(Happening):
    """A phase of an iteration, also one without a role: `commit`, `evaluate`, `accept`."""

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
    """In ISO 8601. A person may stop it earlier."""
    why: str


@value
class DaemonEnded(Happening):
    why: str
    runs: int
    """How many runs it made."""


@value
class StepBegan(OfStep):
    player: str
    attempts: int
    """The most that it has."""
    phase: str = ""
    """The phase of a program's iteration."""


@value
class Attempted(OfStep):
    attempt: int


@value
class Asked(OfStep):
    """A model has answered."""

    prompt: int
    cached: int
    completion: int
    prefix: float
    """The share of the prompt that begins as the prompt before it."""
    total: int
    """Tokens of the run so far."""
    cache_known: bool = True
    """Whether the server said how much was cached."""
    cost: float | None = None
    """Of the run so far; None: no prices are configured."""


@value
class Delayed(Happening):
    """A server keeps us waiting: it is over its limit, silent, or gone."""

    why: str


@value
class Refused(OfStep):
    attempt: int
    why: str


@value
class StepEnded(OfStep):
    outcome: str
    """`committed`, `nothing-to-do`, `sent-back`, `blocked`, …"""
    why: str = ""
    commit: str = ""
    subject: str = ""
    verdict: str = ""
    concerns: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    """The new reds of a step that wrote tests, each as three lines: its id, the failing line, its message."""
    diff: str = ""
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    """With `prompt` and `cached`: the tokens of all calls in the step."""


@value
class Noted(Happening):
    text: str


@value
class Told(Happening):
    """The output of a verb of the kernel."""

    lines: tuple[str, ...]


@value
class YourTurn(OfStep):
    """A person plays this step."""

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
    """Tokens of the prompts that no cache had."""
    prefix: float = 0.0
    following: str = ""
    """The next move."""
    points: tuple[str, ...] = ()
    """Points of the kata for which, by the testers' words, there is no test."""
    lines: tuple[str, ...] = ()
    """Source lines that no test runs; measured when the kata is done."""
    cost: float | None = None
    """None: no prices are configured."""
    program: str = ""
    """The program, if it was a run of one; then `steps` counts iterations."""


@value
class SessionBegan(Happening):
    """A session of `tdd code` began; the first event of its stream."""

    session: str
    model: str
    resumed: bool
    worktree: str
    task: str = ""
    replay: bool = False


@value
class ModelSpoke(Happening):
    """The text of a model's reply, without its calls."""

    turn: int
    text: str


@value
class ModelWrote(Happening):
    """Lines of a model's reply as they arrive, anew after a `Delayed`. `ModelSpoke` has the whole text."""

    text: str


@value
class CallMade(Happening):
    """A model calls a tool. All calls of a reply are told before the first is carried out."""

    turn: int
    call: str
    """Its id, unique in the session."""
    tool: str
    arguments: str
    """JSON."""


@value
class CallBegan(Happening):
    """The call is carried out now: its arguments are valid, and it is permitted."""

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
    """The answer to the model."""
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
    """The id of the edits that were set aside, if a repair begins."""


@value
class SessionEnded(Happening):
    session: str
    outcome: str
    text: str
    """The result, in words for a person."""
    why: str = ""
    turns: int = 0
    tokens: int = 0
    cached: int | None = None
    """None if the server does not say."""
    uncached: int | None = None
    completion: int = 0
    prefix: float = 0.0
    cost: float | None = None
    """None: no prices are configured."""
    seconds: float = 0.0
    following: str = ""
    files: tuple[str, ...] = ()
    """Files that differ from when the task was given."""
    accepted: tuple[str, ...] = ()
    """Tests that were accepted since."""
    concerns: tuple[str, ...] = ()
    """Of the accepting verdicts, and what else a person should know."""
    open: tuple[str, ...] = ()
    """What is left open, a line each."""


class Watcher(Protocol):
    def __call__(self, happening: Happening, /) -> None: ...


def scrub_events(watch: Watcher, scrub: Callable[[str], str]) -> Watcher:
    """Takes keys out of all texts, so that none reaches a screen or a pipe."""
    return lambda happening: watch(scrub_texts(happening, scrub))


def scrub_texts(said: Said, scrub: Callable[[str], str]) -> Said:
    """The same value, its texts without keys."""
    texts: dict[str, Any] = {}
    for f in fields(said):
        match getattr(said, f.name):
            case str(text):
                texts[f.name] = scrub(text)
            case (str(), *_) as several:
                texts[f.name] = tuple(map(scrub, several))
    return replace(said, **texts)
