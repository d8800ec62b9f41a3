"""What a session's model is sent: a pinned prefix, a conversation that only grows, and the kernel's answers.

Nothing that changes from turn to turn (a clock, the cost, the phase) stands before the last message, so that
every prompt begins with the prompt before it. Scratch, such as digests of files, is never in here.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from verdigris.core.policy.next_move import FIRST_MOVE
from verdigris.core.report import RunEnd
from verdigris.core.state import Phase
from verdigris.core.test_ids import some
from verdigris.core.value import replace, value
from verdigris.models.protocol import Ask, Message
from verdigris.models.request import estimate
from verdigris.models.roles import feedback
from verdigris.models.tool_calls import sendable_calls

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from verdigris.core.actions import Deny
    from verdigris.core.state import WorktreeState
    from verdigris.languages.stubs import Stub
    from verdigris.models.protocol import ModelReply, ToolSpec
    from verdigris.turns.settle import Settlement
    from verdigris.turns.test import Tested


KEPT_TOKENS = 8_000
"""Of the newest messages, as they were, after a compaction."""
INSTRUCTION_CHARACTERS = 24_000
"""Of the repository's own instructions."""
_CUT = "\n… (the rest is left out: read_file has it)"


@value
class Conversation:
    prefix: tuple[Message, ...]
    """The same for the whole session."""
    said: tuple[Message, ...] = ()

    def add(self, *messages: Message) -> Conversation:
        return replace(self, said=(*self.said, *messages))

    def ask(self, tools: tuple[ToolSpec, ...]) -> Ask:
        return Ask((*self.prefix, *self.said), tools=tools, needs_tools=True)


def pin_prefix(system: str, instructions: Iterable[tuple[str, str]]) -> tuple[Message, ...]:
    """`instructions`: name and text of the files in which a repository tells agents what it wants."""
    parts = [system.strip()]
    for name, text in instructions:
        shown = text.strip()
        if len(shown) > INSTRUCTION_CHARACTERS:
            shown = shown[:INSTRUCTION_CHARACTERS] + _CUT
        parts.append(f"# {name} of this repository\n\n{shown}")
    return (Message("system", "\n\n".join(parts)),)


def reply_message(reply: ModelReply) -> Message:
    """Makes the message that goes back to the model with the next question."""
    return Message("assistant", reply.text, sendable_calls(reply.calls))


@value
class Essentials:
    """What a compaction keeps word for word."""

    tasks: tuple[str, ...]
    """What the person asked for, the latest last."""
    law: tuple[str, ...] = ()
    """Phase, open reds and claims."""
    plan: str = ""
    verdicts: tuple[str, ...] = ()
    """The footers of the turns so far."""


def compact(conversation: Conversation, keep: Essentials, *, kept_tokens: int = KEPT_TOKENS) -> Conversation:
    """One deliberate rebuild: the essentials, and the newest messages from a reply on."""
    parts = ["The conversation so far was too long and is left out; this is what matters of it."]
    parts += [f"# Task\n{task}" for task in keep.tasks]
    parts += ["# Where the law stands\n" + "\n".join(keep.law)] if keep.law else []
    parts += [f"# Plan\n{keep.plan}"] if keep.plan else []
    parts += ["# Verdicts so far\n" + "\n".join(keep.verdicts)] if keep.verdicts else []
    parts.append("Read a file again before you edit it.")
    start = Message("user", "\n\n".join(parts))
    return replace(conversation, said=(start, *_newest(conversation.said, kept_tokens)))


def _newest(said: Sequence[Message], tokens: int) -> Sequence[Message]:
    """Begins at a reply: an answer to a call never stands without its call."""
    starts = [at for at, message in enumerate(said) if message.role == "assistant"]
    for at in starts:
        if sum(estimate(_text(message)) for message in said[at:]) <= tokens:
            return said[at:]
    return ()


def _text(message: Message) -> str:
    return message.content + "".join(call.arguments for call in message.calls)


LONGEST = 24_000
"""Characters of one tool's answer."""
_COMMAND = re.compile(
    r"`tdd (?P<verb>test-bug(?! close)|test|claim|settle|refactor begin|refactor end|refactor abort)"
    r"(?P<rest> [^`]*)?`"
)
_TOOLS = {
    "test": "run_tests",
    "claim": "edit_claim",
    "settle": "end your reply",
    "refactor begin": "refactor_begin",
    "refactor end": "refactor_end",
    "refactor abort": "refactor_end with abort",
    "test-bug": "test_bug",
}
_STAY = "Your edits stay: repair them in your next reply."


def in_tools(text: str) -> str:
    """Next moves as this model can make them; what no tool is for, `tdd` in its shell does."""
    return _COMMAND.sub(lambda found: f"{_TOOLS[found['verb']]}{found['rest'] or ''}", text)


def clip(text: str, longest: int = LONGEST) -> str:
    """The beginning and the end of what is too long."""
    if len(text) <= longest:
        return text
    half = longest // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[-half:]}"


def describe_denial(deny: Deny) -> str:
    return in_tools("\n".join(deny.lines()))


def describe_run(
    tested: Tested, *, withheld: Collection[str], quote: feedback.Quote, edit_claims: bool
) -> str:
    """Counts, what is red and why others are not, stubs that are missing, and the next move.

    `edit_claims`: an edit of source claims what is red now, so that no call is needed for it.
    """
    counts = Counter(run.status for run in tested.tests)
    told = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no test was run"
    if tested.report is None:
        told += " (seen before on this very tree)"
    elif tested.report.ended is not RunEnd.FINISHED:
        told += f"; the run did not end as it should ({tested.report.ended})"
    parts = [told if tested.phase == Phase.RED else f"{told}; phase {tested.phase}"]
    parts += [
        feedback.describe_failures(tested.tests, tested.report, withheld=frozenset(withheld), quote=quote)
    ]
    parts += _describe_stubs(stub for stubs in tested.stubs.values() for stub in stubs)
    parts += [f"perhaps the run lacks something that a person can set: {need.why}" for need in tested.needs]
    if tested.characterized:
        parts.append(f"recorded: {len(tested.characterized)} passing at once (characterization tests)")
    following = in_tools(tested.next)
    if tested.stubs and not any(run.red == "valid" for run in tested.tests):
        following = "write the stubs above, then run_tests again"
    elif edit_claims and tested.next.startswith("`tdd claim "):
        following = "edit source"
    return "\n".join([*filter(None, parts), f"next: {following}"])


def _describe_stubs(stubs: Iterable[Stub]) -> list[str]:
    found = [f"{stub.path}{' (new)' if stub.new else ''}:\n{stub.text.rstrip()}" for stub in stubs]
    return ["The test needs names that source does not have. These stubs may be written:", *found] * bool(
        found
    )


def describe_footer(judged: Settlement) -> str:
    """Leaves out the move that always follows an acceptance: the system text names it once."""
    said = judged.footer.removesuffix(f"; next: {FIRST_MOVE}") if judged.verdict.accepted else judged.footer
    return in_tools(said)


def _without_edits(judged: Settlement) -> str:
    """An accepted turn, for the model: it knows what it has just edited."""
    said = judged.footer.replace(f"; edited {some(judged.paths)}.", ".")
    return describe_footer(replace(judged, footer=said))


def describe_judgement(judged: Settlement, *, withheld: Collection[str], quote: feedback.Quote) -> str:
    """The footer alone where it is accepted; else the reasons, which the footer then does not say again."""
    if judged.verdict.accepted:
        return _without_edits(judged)
    closing, footer = _STAY, f"[tdd] {judged.verdict.kind}; phase {judged.phase}"
    if judged.aside is not None:
        footer += f"; next: {in_tools(judged.next)}"
        closing = (
            f"That was the last try: your edits are set aside as {judged.aside}, and are in no file any more."
        )
    told = feedback.describe_verdict(
        judged.verdict,
        judged.report,
        judged.output,
        withheld=frozenset(withheld),
        quote=quote,
        closing=closing,
    )
    return f"{in_tools(told).strip()}\n{footer}"


def describe_law(state: WorktreeState) -> tuple[str, ...]:
    """Phase, open reds and claims, a line each."""
    found = [f"phase {state.phase}"]
    found += [f"claimed {test_id}" for test_id in state.claims]
    if state.phase is Phase.RED:
        found += [f"red {red.test_id}: {red.failure}" for red in state.valid_reds]
    found += [f"test-bug {bug.id} at {', '.join(bug.places)}: {bug.why}" for bug in state.test_bugs.values()]
    found += [
        f"set aside as {laid.id}: {', '.join(laid.paths)} ({laid.why})" for laid in state.aside.values()
    ]
    return tuple(found)
