"""Renders a session as lines, and keeps its screen as a value. Nothing here draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.value import value
from verdigris.drivers import happenings as w
from verdigris.drivers.code.commands import CommandAnswer
from verdigris.drivers.code.facts import SessionFacts, VerdictFacts, describe_usage
from verdigris.drivers.code.tools.dispatch import EDITING
from verdigris.models.tool_calls import arguments_of, describe_arguments
from verdigris.views.lines import Dot, Line
from verdigris.views.run import lines

if TYPE_CHECKING:
    from verdigris.models.protocol import Message


PANES = ("conversation", "plan", "verdict", "diff")
WIDE, HIGH = 110, 30
"""From this size on all panes are shown at once."""
_MOST_SAID, _KEPT_SAID = 5000, 4000
_FACTS = "\n\n[tdd] where things stand:"
"""The rest of a person's message is for the model."""
_JUDGED = EDITING | {"finish", "shell"}
"""After one of these calls the turn is judged."""
_DOTS: dict[str, Dot] = {"red": "red", "green": "green"}
_SHORT, _MILLION = 10_000, 1_000_000


@value
class PermissionAsked:
    """A person has to permit a call."""

    tool: str
    arguments: str


@value
class Earlier:
    """The conversation before this run, of a resumed session."""

    messages: tuple[Message, ...]


@value
class Cancel:
    """A person cancels the open task."""


ScreenMessage: TypeAlias = w.Happening | SessionFacts | CommandAnswer | PermissionAsked | Earlier


@value
class SessionView:
    facts: SessionFacts = SessionFacts()
    said: tuple[Line, ...] = ()
    dropped: int = 0
    """How many of the first lines were dropped."""
    doing: str = ""
    """What the session is doing; empty if it waits for the person."""
    question: tuple[Line, ...] = ()
    spoken: str = ""
    """The model's last text."""
    calls: tuple[tuple[str, str], ...] = ()
    """The calls of the open turn: name and description."""

    def begin(self, line: str) -> SessionView:
        """The view after a person has sent a line."""
        doing = line.split(maxsplit=1)[0] if line.startswith("/") else "the model is asked"
        return replace(self.add(_person_lines(line)), doing=doing)

    def without_question(self) -> SessionView:
        return replace(self, question=())

    def add(self, more: Iterable[Line]) -> SessionView:
        said = (*self.said, *more)
        gone = len(said) - _KEPT_SAID if len(said) > _MOST_SAID else 0
        return replace(self, said=said[gone:], dropped=self.dropped + gone)


def view_after(view: SessionView, message: ScreenMessage) -> SessionView:
    match message:
        case SessionFacts():
            return replace(view, facts=message)
        case PermissionAsked():
            asked = tuple(question_lines(message.tool, message.arguments))
            return replace(view, question=asked, doing="your answer is awaited")
        case Earlier():
            return view.add(earlier_lines(message.messages))
        case CommandAnswer():
            ended = replace(view, doing="", question=(), calls=(), spoken="")
            repeated = "\n".join(message.lines).strip() == view.spoken.strip()
            shown = (Line(text.expandtabs(), code=text[:1] in {"+", "-", "@"}) for text in message.lines)
            return ended if repeated else ended.add(shown)
        case w.SessionEnded():
            return view.add(lines(message)[:1])  # the screen shows the cost elsewhere, and the prompt is open
        case w.PlanShown():
            return view
        case _:
            return _after_step(view.add(lines(message)), message)


def answer_meanwhile(facts: SessionFacts, command: str, seconds: float) -> tuple[Line, ...]:
    """The answer to a command that only reads, while a turn is under way; empty for all others."""
    match command.strip():
        case "/diff":
            return tuple(diff_lines(facts)) or (Line("nothing is changed"),)
        case "/cost":
            return (Line(cost_line(facts, seconds)),)
        case "/status":
            return (Line(head_line(facts)), plan_strip(facts), verdict_strip(facts))
        case _:
            return ()


def _after_step(view: SessionView, happening: w.Happening) -> SessionView:
    match happening:
        case w.ModelWrote():
            last = happening.text.strip().rpartition("\n")[2]
            return replace(view, doing=f"the model writes: {last}")
        case w.ModelSpoke():
            return replace(view, spoken=happening.text)
        case w.CallMade():
            about = f"{happening.tool} {describe_arguments(happening.arguments)}".rstrip()
            return replace(view, calls=(*view.calls, (happening.call, about)))
        case w.CallBegan():
            return replace(view, doing=dict(view.calls).get(happening.call, "a call is carried out"))
        case w.ToolCalled():
            left = tuple(call for call in view.calls if call[0] != happening.call)
            judged = "the turn is judged" if happening.tool in _JUDGED else "the model is asked"
            return replace(view, calls=left, doing="the calls are carried out" if left else judged)
        case w.TurnJudged():
            return replace(view, doing="the model is asked")
        case w.Delayed():
            return replace(view, doing=f"waits: {happening.why}")
        case w.Asked():
            return replace(view, doing="the calls are carried out")
        case _:
            return view


def _person_lines(text: str) -> Iterator[Line]:
    """A person's lines, after an empty one."""
    yield Line("")
    for number, line in enumerate(text.splitlines()):
        yield Line(f"{'  ' if number else '> '}{line.expandtabs()}")


def earlier_lines(messages: Iterable[Message]) -> tuple[Line, ...]:
    """The earlier conversation, without the answers of tools."""
    return tuple(line for message in messages for line in _earlier_lines(message))


def _earlier_lines(message: Message) -> Iterator[Line]:
    match message.role:
        case "user":
            yield from _person_lines(message.content.partition(_FACTS)[0].strip())
        case "assistant":
            yield from (Line(f"  {line}") for line in message.content.strip().splitlines())
            for call in message.calls:
                yield Line(f"  {call.name} {describe_arguments(call.arguments)}".rstrip())


# -- panes ------------------------------------------------------------------------------------


def folds(width: int, height: int) -> bool:
    """Whether only one pane is shown at a time."""
    return width < WIDE or height < HIGH


def head_line(facts: SessionFacts) -> str:
    phase = f"phase {facts.phase}" if facts.phase else ""
    return " · ".join(filter(None, (f"tdd code {facts.session}".strip(), facts.model, phase)))


def plan_lines(facts: SessionFacts) -> list[Line]:
    """Names the colour too: not everybody sees it."""
    lines = []
    for number, step in enumerate(facts.steps, 1):
        text, dot = f"{number}. {step.title}", _DOTS.get(step.colour)
        lines.append(Line(f"{text} · {step.colour}", dot) if dot else Line(f"○ {text}"))
    return lines or [Line("no plan yet")]


def plan_strip(facts: SessionFacts) -> Line:
    """The plan on a line: how many steps are green, and the first that is not."""
    steps = facts.steps
    left = [(number, step) for number, step in enumerate(steps, 1) if step.colour != "green"]
    if not steps:
        return Line("plan: none yet")
    if not left:
        return Line(f"plan: all {len(steps)} green", "green")
    number, step = left[0]
    told = f"plan: {len(steps) - len(left)} of {len(steps)} green; {number}. {step.title}"
    return Line(told, _DOTS.get(step.colour))


def verdict_lines(facts: SessionFacts) -> list[Line]:
    verdict = facts.verdict
    if not verdict.kind:
        return [Line("no verdict yet")]
    lines = [Line(_verdict_name(verdict), _verdict_dot(verdict))]
    lines += [Line(f"  {test}") for test in verdict.tests]
    lines += [Line(f"  {line}") for reason in verdict.reasons for line in reason.splitlines()]
    lines += [Line(f"  concern: {concern}") for concern in verdict.concerns]
    if verdict.aside:
        back = f"/restore {verdict.aside} brings them back"
        lines.append(Line(f"  the edits are set aside as {verdict.aside}; {back}"))
    return lines


def verdict_strip(facts: SessionFacts) -> Line:
    verdict = facts.verdict
    if not verdict.kind:
        return Line("verdict: none yet")
    why = "; ".join(verdict.reasons) or ", ".join(verdict.tests)
    told = f"verdict: {_verdict_name(verdict)}{f': {why}' if why else ''}"
    return Line(" ".join(told.split()), _verdict_dot(verdict))


def _verdict_name(verdict: VerdictFacts) -> str:
    return f"{verdict.kind} (refactor)" if verdict.refactor else verdict.kind


def _verdict_dot(verdict: VerdictFacts) -> Dot:
    return "green" if verdict.kind == "accepted" else "red"


def diff_lines(facts: SessionFacts) -> list[Line]:
    changes = facts.changes
    if not changes.lines:
        return [Line("nothing is changed")]
    lines = [Line(f"changed in {changes.of}:")]
    lines += [Line(line.expandtabs(), code=True) for line in changes.lines]
    lines += [Line(f"… {changes.left_out} more lines; `git diff` has them")] * bool(changes.left_out)
    return lines


def cost_line(facts: SessionFacts, elapsed: float) -> str:
    """Tokens, money and time of this run."""
    tokens = describe_usage(facts.usage, short_count)
    money = (
        ""
        if facts.cost is None or not facts.usage.prompt
        else f"cost {facts.cost:.{4 if facts.cost < 1 else 2}f}"
    )
    return "; ".join(filter(None, (tokens, money, clock(elapsed))))


def short_count(number: int) -> str:
    if number < _SHORT:
        return str(number)
    return f"{number // 1000}k" if number < _MILLION else f"{number / _MILLION:.1f}M"


def clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def working_line(view: SessionView, elapsed: float) -> str:
    return f"{view.doing} · {clock(elapsed)} · Ctrl-C cancels"


_ASKED = 60
"""How many lines of an edit a question shows."""


def question_lines(tool: str, arguments: str) -> list[Line]:
    """The call that a person has to permit: a whole command, or the changes of an edit."""
    given = arguments_of(arguments)
    path = f" of {given['path']}" if given.get("path") else ""
    lines = [Line(f"The model asks for {tool}{path}:", "yellow")]
    lines += [Line(f"  {line.expandtabs()}") for line in str(given.get("command", "")).splitlines()]
    for name, sign in (("search", "-"), ("replace", "+"), ("content", "+"), ("patch", "")):
        text = str(given.get(name, "")).splitlines()
        lines += [Line(f"  {sign}{line.expandtabs()}", code=True) for line in text[:_ASKED]]
        lines += [Line(f"  … {len(text) - _ASKED} more lines")] * (len(text) > _ASKED)
    return lines
