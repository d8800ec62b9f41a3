"""Renders what happens in a session as lines, for whoever watches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.drivers import happenings as w
from verdigris.drivers.code.tools.table import arguments_of, describe_arguments
from verdigris.views.lines import Line, count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.views.lines import Dot

_OUTCOMES: dict[str, Dot] = {"denied": "red", "failed": "yellow", "suppressed": "yellow"}
_SAID = 6
_ASKED = 60
"""Lines of an edit that a question shows."""


def lines(happening: w.Happening) -> list[Line]:
    return list(_lines(happening))


def _lines(happening: w.Happening) -> Iterator[Line]:
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
        case w.Delayed():
            yield Line(f"  waiting: {happening.why}")
        case w.Noted():
            yield Line(f"note: {happening.text}")
        case w.SessionEnded():
            yield from _end_lines(happening)


def _call_lines(call: w.ToolCalled) -> Iterator[Line]:
    about = describe_arguments(call.about)
    head = f"  {call.tool} {about}".rstrip()
    if call.outcome == "ok":
        yield Line(head)
        return
    yield Line(f"{head.strip()}: {call.outcome}", _OUTCOMES.get(call.outcome))
    yield from (Line(f"      {line}") for line in call.told.splitlines()[:_SAID])


def question_lines(tool: str, arguments: str) -> list[Line]:
    """What a person is asked to say yes to: of a command all, of an edit what changes."""
    given = arguments_of(arguments)
    path = f" of {given['path']}" if given.get("path") else ""
    found = [Line(f"The model asks for {tool}{path}:", "yellow")]
    found += [Line(f"  {line.expandtabs()}") for line in str(given.get("command", "")).splitlines()]
    for name, sign in (("search", "-"), ("replace", "+"), ("content", "+"), ("patch", "")):
        text = str(given.get(name, "")).splitlines()
        found += [Line(f"  {sign}{line.expandtabs()}", code=True) for line in text[:_ASKED]]
        found += [Line(f"  … {len(text) - _ASKED} more lines")] * (len(text) > _ASKED)
    return found


def _end_lines(ended: w.SessionEnded) -> Iterator[Line]:
    dot: Dot = "green" if ended.outcome == "done" else "yellow"
    yield Line(f"{ended.outcome}{f': {ended.why}' if ended.why else ''}", dot)
    yield Line(f"  {describe_cost(ended)}")
    if ended.following:
        yield Line(f"next: {ended.following}")


def describe_cost(ended: w.SessionEnded) -> str:
    """Turns, tokens, money and time; what nobody told is unknown, not none."""
    cached = "unknown" if ended.cached is None else str(ended.cached)
    fresh = "unknown" if ended.uncached is None else str(ended.uncached)
    money = "" if ended.cost is None else f"; cost {ended.cost:.4f}"
    tokens = f"{ended.tokens} tokens: {cached} cached, {fresh} uncached, {ended.completion} written"
    return f"{count_of(ended.turns, 'turn')}; {tokens}{money}; {ended.seconds:.0f} s"
