"""Renders what a run tells, of any driver, as lines and as JSON events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from verdigris.core.records import to_json
from verdigris.core.roles import KINDS
from verdigris.drivers import happenings as w
from verdigris.drivers.machine.history import NOTHING_RED, NOTHING_TO_DO, SENT_BACK, UPHELD
from verdigris.models.roles.answer import Say
from verdigris.models.tool_calls import describe_arguments
from verdigris.views.lines import Dot, Line, count_of

DOTS: dict[str, Dot] = {
    name: "red" if kind in {"planner", "tester", "validator"} else "green" for name, kind in KINDS.items()
}
_SHORT = 9
_FINE = frozenset(
    {NOTHING_TO_DO, NOTHING_RED, Say.KATA_DONE, UPHELD, Say.PASS, "handed-in"}
    | {"green", "rethink-test", "refactor", "optimize", "pay", "ci-fix"}
)
BLOCKED = "blocked"
_GOOD_ENDS = frozenset({"steps-made", "kata-done", "cycle-done", "completed", "limit"})
_TOLD_AT_THE_END = frozenset({"budget-used-up", "waiting", "refused", "stopped", "cycle-done"})
"""Outcomes whose reason no step has shown."""
_MOST_TESTS, _MOST_LINES = 3, 14
_CHANGED = re.compile(r"\+\+\+ (?!/dev/null)|\+(?!\+\+ )|-(?!-- )")


def lines(happening: w.Happening) -> list[Line]:
    return [*_begin_lines(happening), *_session_lines(happening), *_step_lines(happening)]


def _step_lines(happening: w.Happening) -> Iterator[Line]:
    """The lines of steps, and the last ones of a run."""
    match happening:
        case w.Told():
            yield from map(Line, happening.lines)
        case w.StepBegan():
            phase = f"{happening.phase}: " if happening.phase else ""
            yield Line(f"step {happening.step}: {phase}{happening.role} ({happening.player})")
        case w.Delayed():
            yield Line(f"  waiting: {happening.why}")
        case w.Refused() if happening.attempt:
            yield Line(f"  attempt {happening.attempt} not accepted: {happening.why}", "yellow")
        case w.StepEnded():
            yield from _end_lines(happening)
        case w.Noted():
            yield Line(f"note: {happening.text}")
        case w.YourTurn():
            yield Line(f"step {happening.step}: you are the {happening.role}", "yellow")
            yield from (Line(f"  {line}") for text in happening.what for line in text.splitlines())
        case w.RunEnded():
            yield from _summary(happening)
        case w.DaemonRests():
            yield Line(f"rests until {happening.until}: {happening.why}")
        case w.DaemonEnded():
            yield Line(f"the daemon has ended after {count_of(happening.runs, 'run')}: {happening.why}")


_CHOICES = {
    "new": "one more behaviour",
    "failing": "the red that was left",
    "rethink": "three errors in a row, so the test is rethought",
}
_STATUS_DOTS: dict[str, Dot] = {"accepted": "green", "rejected": "yellow"}


def _iteration_lines(done: w.IterationDone) -> Iterator[Line]:
    what = f"{done.commit[:_SHORT]} {done.change}".strip()
    metric = "" if done.metric is None else f", metric {done.metric:g}"
    gain = "" if done.metric is None or done.previous is None else f" ({done.metric - done.previous:+g})"
    yield Line(
        f"iteration {done.number}: {done.status}: {what}{metric}{gain}", _STATUS_DOTS.get(done.status, "red")
    )
    yield from (Line(f"    {note}") for note in done.notes)


def _begin_lines(happening: w.Happening) -> Iterator[Line]:
    """The first lines of a run, a cycle, a program and its iterations."""
    match happening:
        case w.RunBegan():
            again = ", taken up again" if happening.resumed else ""
            yield Line(f"steps {happening.first} to {happening.last}{again}, for {happening.branch}")
        case w.CycleBegan():
            again = f", taken up again in stage {happening.stage}" if happening.resumed else ""
            yield Line(f"cycle {happening.cycle} on {happening.spec}{again}, for {happening.branch}")
        case w.ProgramBegan():
            again = ", taken up in the middle of an iteration" if happening.resumed else ""
            yield Line(f"program {happening.program} ({happening.strategy}){again}, on {happening.branch}")
        case w.IterationBegan():
            about = f" ({happening.target})" if happening.target else ""
            yield Line(f"iteration {happening.number}: {_CHOICES[happening.choice]}{about}")
        case w.IterationDone():
            yield from _iteration_lines(happening)
    if isinstance(happening, w.RunBegan | w.CycleBegan | w.ProgramBegan):
        for model in dict.fromkeys(model for _, model in happening.models):
            roles = ", ".join(role for role, played in happening.models if played == model)
            yield Line(f"  {roles}: {model}")
        yield Line(f"  in {happening.worktree}")


def _end_lines(step: w.StepEnded) -> Iterator[Line]:
    if step.commit:
        yield Line(
            f"step {step.step}: {step.verdict}: {step.commit[:_SHORT]} {step.subject}", DOTS[step.role]
        )
    else:
        why = f": {_why(step)}" if step.why else ""
        yield Line(f"step {step.step}: {step.role}: {step.outcome}{why}", dot_of_step(step))
    yield from _tests(step.tests)
    yield from _difference(step.diff)
    yield from (Line(f"    concern: {concern}", "yellow") for concern in step.concerns)
    if step.prompt or step.completion:
        yield Line(f"    {_cost(step.prompt, step.cached, step.completion)}")


def _why(step: w.StepEnded) -> str:
    """A short reason: refused attempts were shown one by one already."""
    if step.outcome in {BLOCKED, "not-accepted"}:
        return "no attempt was accepted"
    return step.why.partition("\n")[0].rstrip(":") if step.outcome in {SENT_BACK, UPHELD} else step.why


def _tests(tests: tuple[str, ...]) -> Iterator[Line]:
    """The test's name, the failing line, and its message."""
    for test in tests[:_MOST_TESTS]:
        name, *more = test.splitlines()
        yield Line(f"    {name}", code=True)
        yield from (Line(f"      {line}", code=True) for line in more if line.strip())
    if len(tests) > _MOST_TESTS:
        yield Line(f"    … and {count_of(len(tests) - _MOST_TESTS, 'test')} more")


def _difference(diff: str) -> Iterator[Line]:
    """The first added and removed lines, file by file."""
    shown = changed_lines(diff)
    for line in shown[:_MOST_LINES]:
        new = line.startswith("+++ ")
        yield Line(f"    {line[4:].removeprefix('b/')}" if new else f"      {line}", code=True)
    if len(shown) > _MOST_LINES:
        yield Line(f"      … {count_of(len(shown) - _MOST_LINES, 'line')} more")


def changed_lines(diff: str) -> list[str]:
    """The names of files (`+++ `), and added and removed lines without blank ones."""
    return [line for line in diff.splitlines() if _CHANGED.match(line) and line.strip("+- ")]


def _cost(prompt: int, cached: int, completion: int) -> str:
    share = f" and {cached} cached ({cached / prompt:.0%})" if cached else ""
    return f"{prompt + completion} tokens: {prompt - cached} read{share}, {completion} written"


def dot_of_step(step: w.StepEnded) -> Dot:
    """The colour of a step without a commit: as it should be, or to look at."""
    if step.outcome == "red":
        return "red"
    return "green" if step.outcome in _FINE else "yellow"


def _summary(ended: w.RunEnded) -> Iterator[Line]:
    told = ended.program or ended.outcome in _TOLD_AT_THE_END
    why = f": {ended.why}" if ended.why and told else ""
    what = "iteration" if ended.program else "step"
    made = f"{count_of(ended.steps, what)}, {count_of(len(ended.commits), 'commit')}"
    yield Line(f"{ended.outcome}{why}", "green" if ended.outcome in _GOOD_ENDS else "yellow")
    written = ended.tokens - ended.uncached - ended.cached
    cost = _cost(ended.uncached + ended.cached, ended.cached, written) if ended.tokens else "no tokens"
    money = "" if ended.cost is None else f"; cost {ended.cost:.4f}"
    yield Line(f"  {made}; {cost}{money}")
    if ended.points:
        yield Line(f"  points of the kata that no test was written for: {'; '.join(ended.points)}", "yellow")
    if ended.lines:
        yield Line(f"  lines that no test runs: {', '.join(ended.lines)}", "yellow")
    yield Line(f"next: {ended.following}")


def document(happening: w.Happening) -> dict[str, Any]:
    """All fields, also those with default values."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(happening).__name__).lower()
    names = [field.name for field in fields(happening)]
    return {"event": kind, **{name: to_json(getattr(happening, name)) for name in names}}


# -- a session --------------------------------------------------------------------------------

_OUTCOMES: dict[str, Dot] = {"denied": "red", "failed": "yellow", "suppressed": "yellow"}
_SAID = 6


def _session_lines(happening: w.Happening) -> Iterator[Line]:
    match happening:
        case w.SessionBegan():
            again = ", taken up again" if happening.resumed else ""
            yield Line(f"session {happening.session}{again}: {happening.model}, in {happening.worktree}")
        case w.ModelSpoke():
            yield from (Line(f"  {line}") for line in happening.text.strip().splitlines())
        case w.ToolCalled():
            yield from _call_lines(happening)
        case w.TurnJudged():
            good = happening.verdict == "accepted"
            yield Line(f"{happening.footer}", "green" if good else "red")
            if happening.aside:
                yield Line(f"  repair: the edits are set aside as {happening.aside}", "yellow")
        case w.PlanShown():
            yield from (Line(f"  {line}") for line in happening.lines)
        case w.SessionEnded():
            yield from _session_end(happening)


def _call_lines(call: w.ToolCalled) -> Iterator[Line]:
    about = describe_arguments(call.about)
    head = f"  {call.tool} {about}".rstrip()
    if call.outcome == "ok":
        yield Line(head)
        return
    yield Line(f"{head.strip()}: {call.outcome}", _OUTCOMES.get(call.outcome))
    yield from (Line(f"      {line.expandtabs()}") for line in call.told.splitlines()[:_SAID])


def _session_end(ended: w.SessionEnded) -> Iterator[Line]:
    dot: Dot = "green" if ended.outcome in {"done", "answered"} else "yellow"
    yield Line(f"{ended.outcome}: {ended.why or describe_account(ended)}", dot)
    yield from (Line(f"  concern: {concern}") for concern in ended.concerns[:_SAID])
    yield Line(f"  {describe_cost(ended)}")
    if ended.following:
        yield Line(f"next: {ended.following}")


def describe_account(ended: w.SessionEnded) -> str:
    """What changed, and what was accepted."""
    if not ended.files and not ended.accepted:
        return "nothing changed"
    accepted = f"{count_of(len(ended.accepted), 'test')} accepted" if ended.accepted else "no test accepted"
    concerns = f", {count_of(len(ended.concerns), 'concern')}" if ended.concerns else ""
    return f"{count_of(len(ended.files), 'file')}, {accepted}{concerns}"


def describe_cost(ended: w.SessionEnded) -> str:
    """Turns, tokens, money and time."""
    cached = "unknown" if ended.cached is None else str(ended.cached)
    fresh = "unknown" if ended.uncached is None else str(ended.uncached)
    money = "" if ended.cost is None else f"; cost {ended.cost:.4f}"
    tokens = f"{ended.tokens} tokens: {cached} cached, {fresh} uncached, {ended.completion} written"
    return f"{count_of(ended.turns, 'turn')}; {tokens}{money}; {ended.seconds:.0f} s"
