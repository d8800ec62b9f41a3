"""The loop of a session: ask the model, carry out its calls, have the turn judged, until the task is done.

The kernel decides in the tools what is allowed. However a session ends, its file has the whole conversation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from verdigris.core.errors import ContextOverflow, ModelMisused, ModelUnavailable, UserError
from verdigris.core.state import Phase
from verdigris.core.verdict import Kind
from verdigris.drivers.budget import Limits, Meter, Spent, reached_limit
from verdigris.drivers.code import session_file as entries
from verdigris.drivers.code.conversation import (
    Essentials,
    compact,
    describe_denial,
    describe_law,
    in_tools,
    reply_message,
)
from verdigris.drivers.code.outcome import Account, End, SessionResult, conclude, read_account
from verdigris.drivers.code.plan import describe_plan, open_steps
from verdigris.drivers.code.session_file import SessionFile
from verdigris.drivers.code.settings import CodeSettings
from verdigris.drivers.code.tools.dispatch import EDITING, Dispatcher
from verdigris.drivers.code.tools.law import count_repairs, last_event, refactor_end, settle_turn
from verdigris.drivers.code.tools.workbench import ToolAnswer, TurnVerdict, Workbench
from verdigris.drivers.happenings import (
    CallBegan,
    CallMade,
    ModelSpoke,
    Noted,
    PlanShown,
    ToolCalled,
    TurnJudged,
    Watcher,
)
from verdigris.gates.calls import HookCall, Moment
from verdigris.gates.stops import has_restructured, stop
from verdigris.models.protocol import Message, Model, ModelReply, ToolCall, ToolSpec
from verdigris.models.tool_calls import arguments_of, cancel_calls
from verdigris.turns.next_move import following_move

ROLE = "agent"
STOPS = 4
"""After so many stops in a row the model is not sent back any more."""
EMPTY = 3
"""After so many empty replies in a row the session ends."""
_GO_ON = "Your reply was empty. Go on with the task by calling a tool, answer in words, or call finish."
_FULL = 0.8
"""A conversation is compacted at this share of the model's context."""
_CUT_OFF = "The session was interrupted while this call was under way: look whether it took effect."


class OutOfTime(KeyboardInterrupt):
    """The session's time is over; raised by a signal, as an interrupt is."""


@dataclass
class Session:
    bench: Workbench
    file: SessionFile
    dispatcher: Dispatcher
    model: Model
    tools: tuple[ToolSpec, ...]
    meter: Meter
    settings: CodeSettings
    watch: Watcher
    limits: Limits = Limits()  # noqa: RUF009 - frozen
    open_model: Callable[[str], Model] | None = None
    """Opens another model by its name."""
    begun: float = field(default_factory=time.monotonic)
    turns: int = 0
    """Turns of this run; the file has those of all runs."""
    stops: int = 0
    """How often in a row the model was sent back."""
    plan_told: bool = False
    open_told: tuple[str, ...] = ()
    """What the model was last sent back for."""
    tried: bool = False
    """The model tried to edit something since the last task."""
    failed_edit: str = ""
    """What its last edit was about, if that failed."""
    empty: int = 0
    """Empty replies in a row."""
    last_prompt: int = 0
    """The tokens of the last prompt."""
    finish: str = ""
    """The server's reason for the end of the last reply."""

    # -- the loop -----------------------------------------------------------------------------

    def work_on(self, task: str, facts: str = "") -> SessionResult:
        try:
            self._begin(task, facts)
            result = self._take_turns()
        except OutOfTime:
            result = SessionResult(End.LIMIT, "The time is over.", "the time is over (--timeout)")
        except KeyboardInterrupt:
            result = SessionResult(End.INTERRUPTED, "The session was interrupted.")
        except (ModelUnavailable, ModelMisused, ContextOverflow) as error:
            result = SessionResult(End.PROVIDER, error.message, error.hint or "")
        self._say(*cancel_calls(self.file.record.conversation.said, _CUT_OFF))
        self.file.add(entries.Ended(result.end, result.why))
        return result

    def _begin(self, task: str, facts: str) -> None:
        """Takes a task; calls that a killed run left open are answered first."""
        self._say(*cancel_calls(self.file.record.conversation.said, _CUT_OFF))
        project = self.bench.project
        tree, ground = project.workspace.snapshot(), project.state().ground or ""
        self.file.add(entries.Tasked(task, tree, ground, last_event(project)))
        self._say(Message("user", "\n\n".join(filter(None, (task, facts)))))
        self.dispatcher.forget_calls()
        self.tried, self.failed_edit, self.open_told, self.plan_told = False, "", (), False

    def _take_turns(self) -> SessionResult:
        while True:
            if why := reached_limit(self.limits, self.spent(), "turn"):
                return SessionResult(End.LIMIT, f"The session stopped: {why}.", why)
            if (result := self._take_turn(self._ask())) is not None:
                return result

    def _take_turn(self, reply: ModelReply) -> SessionResult | None:
        """Answers every call; the last answer ends with the verdict on the turn."""
        message = reply_message(reply)
        if not message.calls and not message.content.strip():
            return self._ask_again()
        self.empty = 0
        self._open_turn(message)
        if not message.calls:
            note, result = self._stop(reply.text, finished=False)
            self._say(*([Message("user", note)] if result is None else []))
            return result
        for sent in message.calls:
            self.watch(CallMade(self.turns, self._name_call(sent), sent.name, sent.arguments))
        answers: list[ToolAnswer] = []
        for call, sent in zip(reply.calls, message.calls, strict=True):
            if answers:
                self._say(Message("tool", answers[-1].text, call_id=message.calls[len(answers) - 1].id))
            answers.append(self._carry_out(call, sent, reply.finish))
        note, result = self._close_turn(answers)
        text = "\n".join(filter(None, (answers[-1].text, note)))
        self._say(Message("tool", text, call_id=message.calls[-1].id))
        return result

    def _ask_again(self) -> SessionResult | None:
        """An empty reply, as weak models give them, is neither an answer nor an end."""
        self.turns, self.empty = self.turns + 1, self.empty + 1
        if self.empty >= EMPTY:
            return SessionResult(
                End.PROVIDER, "The model's replies are empty.", f"{self.empty} empty replies"
            )
        self._say(Message("assistant", "(an empty reply)"), Message("user", _GO_ON))
        return None

    def _close_turn(self, answers: list[ToolAnswer]) -> tuple[str, SessionResult | None]:
        """The text that ends the turn's last answer, and the session's result if it is over."""
        summaries = [answer.summary for answer in answers if answer.summary is not None]
        if summaries:
            return self._stop(summaries[-1], finished=True)
        self.stops = 0
        edits = [answer for answer in answers if answer.wrote]
        if edits and edits[-1].more:
            return "", None
        judged = settle_turn(self.bench, "\n".join(self.file.record.tasks))
        return ("", None) if judged is None else (judged.text, self._take_verdict(judged))

    # -- a model's reply ----------------------------------------------------------------------

    def _ask(self) -> ModelReply:
        """Asks the model, and compacts the conversation if it is too long."""
        if self.settings.context_tokens and self.last_prompt > _FULL * self.settings.context_tokens:
            self.compact()
        try:
            reply = self._ask_once()
        except ContextOverflow:
            self.compact()
            reply = self._ask_once()
        self.last_prompt, self.finish = reply.usage.prompt, reply.finish
        self.file.add(entries.Counted(reply.usage))
        return reply

    def _ask_once(self) -> ModelReply:
        ask = self.file.record.conversation.ask(self.tools)
        return self.meter.ask_model(self.model, ask, self.turns + 1, ROLE)[0]

    def _open_turn(self, said: Message) -> None:
        self.turns += 1
        project = self.bench.project
        tree, ground = project.workspace.snapshot(), project.state().ground or ""
        number = self.file.record.last_turn + 1
        self.file.add(entries.TurnBegan(number, tree, ground, last_event(project)))
        self._say(said)
        if said.content.strip():
            self.watch(ModelSpoke(self.turns, said.content))

    def _carry_out(self, call: ToolCall, sent: ToolCall, finish: str) -> ToolAnswer:
        plan, name = self.file.record.plan, self._name_call(sent)
        begun = CallBegan(self.turns, name)
        answer = self.dispatcher.carry_out(call, finish=finish, begin=lambda: self.watch(begun))
        self.watch(ToolCalled(self.turns, call.name, sent.arguments, answer.outcome, answer.text, name))
        if call.name in EDITING:
            self.tried = True
            about = arguments_of(sent.arguments).get("path") or call.name
            self.failed_edit = "" if answer.wrote else str(about)
        if answer.judged is not None:
            self._take_verdict(answer.judged)
        if self.file.record.plan != plan:
            self._show_plan()
        return answer

    def _name_call(self, call: ToolCall) -> str:
        """A name that is unique in the session: a model's ids begin anew with each reply."""
        return f"{self.file.record.last_turn}-{call.id}"

    def _say(self, *messages: Message) -> None:
        if messages:
            self.file.add(entries.Said(messages))

    def choose_model(self, name: str) -> None:
        """Chooses the model of later turns; conversation and tools stay, so that prompts begin as before."""
        if self.open_model is None:
            raise UserError("this session has one model.", hint="`tdd code --resume ID --model NAME`")
        self.model = self.open_model(name)
        self.file.add(entries.ModelChosen(name))

    def compact(self) -> None:
        """Shortens the conversation to its essentials; the provider's cache is lost once."""
        record, state = self.file.record, self.bench.project.state()
        plan = describe_plan(record.plan, self.dispatcher.verdicts())
        keep = Essentials(record.tasks, describe_law(state), plan, record.verdicts)
        self.file.add(entries.Compacted(compact(record.conversation, keep).said))
        self.watch(Noted("the conversation was compacted: task, law, plan and verdicts are kept"))

    # -- how a turn and a session end ---------------------------------------------------------

    def _take_verdict(self, judged: TurnVerdict) -> SessionResult | None:
        """Records a verdict; ends the session if edits for one red were set aside too often."""
        self.file.add(entries.Judged(judged.footer))
        self.watch(TurnJudged(self.turns, judged.verdict, judged.footer, judged.accepted, judged.aside or ""))
        if self.file.record.plan.steps:
            self._show_plan()
        if judged.aside is None:
            return None
        repairs = count_repairs(self.bench.project, self.file.record, judged.claimed)
        if repairs < self.settings.repairs:
            return None
        tests = ", ".join(judged.claimed)
        why = f"{repairs} repairs of {tests} were not accepted"
        report = f"The session stopped: {why}.\n{judged.text}"
        return SessionResult(End.REFUSED, report, why)

    def _stop(self, summary: str, *, finished: bool) -> tuple[str, SessionResult | None]:
        """Stops as every agent does: judges what is open first, then says what is left."""
        if (no := self.bench.judge_sweep()) is not None and self.stops < STOPS:
            self.stops += 1
            return describe_denial(no), None
        judged = self._judge_open()
        if judged is not None and judged.verdict != Kind.ACCEPTED:
            result = self._take_verdict(judged)
            if result is not None or self.stops < STOPS:
                self.stops += 1
                return judged.text, result
        elif judged is not None:
            self._take_verdict(judged)
        note, result = self._conclude(summary, finished=finished)
        return "\n".join(filter(None, (judged.text if judged else "", note))), result

    def _judge_open(self) -> TurnVerdict | None:
        """The verdict on edits of an open turn or refactor that were not judged yet."""
        state = self.bench.project.state()
        if state.phase is Phase.REFACTOR and has_restructured(self.bench.project, state):
            return refactor_end(self.bench, {}).judged
        return settle_turn(self.bench, "\n".join(self.file.record.tasks))

    def _conclude(self, summary: str, *, finished: bool) -> tuple[str, SessionResult | None]:
        """Sends the model back for what is open, once for the same things, or ends the session."""
        project = self.bench.project
        call = HookCall(
            Moment.STOP,
            actor=project.actor,
            session=self.file.name,
            again=self.stops > 0,
            most_refusals=STOPS,
            said=summary,
        )
        reply = stop(project, call)
        asks_person = not finished and self.dispatcher.ask_person is not None
        sends_back = reply.kind == "send-back" or (project.state().claims and not asks_person)
        if reply.open and sends_back and reply.open != self.open_told and self.stops < STOPS:
            self.stops, self.open_told = self.stops + 1, reply.open
            if reply.text:
                return in_tools(reply.text), None
            move = following_move(project, project.state(), session=self.file.name)
            return in_tools("\n".join(("You are not done:", *reply.open, f"next: {move}"))), None
        if not reply.open and (note := self._tell_open_steps() or self._tell_failed_edit()):
            return note, None
        failed = bool(self.failed_edit)
        return in_tools(reply.note), conclude(summary, reply, self.account(), tried=self.tried, failed=failed)

    def account(self) -> Account:
        return read_account(self.bench.project, self.file.record)

    def _tell_failed_edit(self) -> str:
        """Reminds of an edit that failed, once, if it was the only thing that was tried."""
        reasons = ("the last edit failed",)
        if not self.failed_edit or self.open_told == reasons or self.account().files:
            return ""
        self.open_told = reasons
        about = f"your last edit, of {self.failed_edit}, failed"
        return f"Nothing changed: {about}. Repair it; or stop again, and say why."

    def _tell_open_steps(self) -> str:
        """Reminds of open steps, but only once: the model may have given them up for a reason."""
        steps = open_steps(self.file.record.plan, self.dispatcher.verdicts())
        if not steps or self.plan_told:
            return ""
        self.plan_told = True
        named = ", ".join(map(str, steps))
        return f"Steps of your plan are not green: {named}. Go on with them, revise_plan, or finish again."

    def _show_plan(self) -> None:
        plan = describe_plan(self.file.record.plan, self.dispatcher.verdicts())
        self.watch(PlanShown(tuple(plan.splitlines())))

    def spent(self) -> Spent:
        return Spent(self.turns, self.meter.tokens, self.meter.cost, time.monotonic() - self.begun)
