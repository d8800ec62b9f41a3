"""The prompt of a session's model: a pinned prefix, a conversation that only grows, and the kernel's answers.

Nothing before the last message changes from turn to turn (no clock, cost or phase), so that every prompt
begins with the prompt before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from verdigris.core.actions import Deny
from verdigris.core.policy.next_move import FIRST_MOVE
from verdigris.core.report import RunEnd
from verdigris.core.state import Phase, WorktreeState
from verdigris.core.test_ids import some, split_id
from verdigris.core.value import replace, value
from verdigris.core.verdict import JUDGED_BEFORE
from verdigris.models.protocol import Ask, Message, ModelReply, ToolSpec
from verdigris.models.request import estimate
from verdigris.models.roles import feedback
from verdigris.models.tool_calls import sendable_calls
from verdigris.turns.settle import Settlement
from verdigris.turns.test_record import Tested

KEPT_TOKENS = 8_000
"""How much of the newest messages a compaction keeps."""
INSTRUCTION_CHARACTERS = 24_000
"""How much of each file of instructions the prompt holds."""
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
    """`instructions`: name and text of the repository's files for agents, such as AGENTS.md."""
    parts = [system.strip()]
    for name, text in instructions:
        shown = text.strip()
        if len(shown) > INSTRUCTION_CHARACTERS:
            shown = shown[:INSTRUCTION_CHARACTERS] + _CUT
        parts.append(f"# {name} of this repository\n\n{shown}")
    return (Message("system", "\n\n".join(parts)),)


def reply_message(reply: ModelReply) -> Message:
    """The reply as a message, for the next prompt."""
    return Message("assistant", reply.text, sendable_calls(reply.calls))


@value
class Essentials:
    """The parts that a compaction keeps word for word."""

    tasks: tuple[str, ...]
    """The person's tasks, the latest last."""
    law: tuple[str, ...] = ()
    """Phase, open reds and claims."""
    plan: str = ""
    verdicts: tuple[str, ...] = ()
    """The footers of the turns so far."""


def compact(conversation: Conversation, keep: Essentials, *, kept_tokens: int = KEPT_TOKENS) -> Conversation:
    """Rebuilds the conversation of the essentials and the newest messages."""
    parts = ["The conversation so far was too long and is left out; this is what matters of it."]
    parts += [f"# Task\n{task}" for task in keep.tasks]
    parts += ["# Where the law stands\n" + "\n".join(keep.law)] if keep.law else []
    parts += [f"# Plan\n{keep.plan}"] if keep.plan else []
    parts += ["# Verdicts so far\n" + "\n".join(keep.verdicts)] if keep.verdicts else []
    parts.append("Read a file again before you edit it.")
    start = Message("user", "\n\n".join(parts))
    return replace(conversation, said=(start, *_newest(conversation.said, kept_tokens)))


def _newest(messages: Sequence[Message], tokens: int) -> Sequence[Message]:
    """Begins at a reply, so that no answer is without its call."""
    starts = [at for at, message in enumerate(messages) if message.role == "assistant"]
    for at in starts:
        if sum(estimate(_text(message)) for message in messages[at:]) <= tokens:
            return messages[at:]
    return ()


def _text(message: Message) -> str:
    return message.content + "".join(call.arguments for call in message.calls)


LONGEST = 24_000
"""The most characters of one tool's answer."""
_COMMAND = re.compile(
    r"`tdd (?P<verb>test-bug(?! close)|test|claim|settle|refactor begin|refactor end|refactor abort"
    r"|stub|restore|status|aside)(?P<rest> [^`]*)?`"
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
    """Replaces commands of `tdd` by the model's tools; for those without a tool it names the shell."""

    def name_tool(match: re.Match[str]) -> str:
        tool = _TOOLS.get(match["verb"])
        return f"shell {match[0]}" if tool is None else f"{tool}{match['rest'] or ''}"

    return _COMMAND.sub(name_tool, text).replace("report it: tdd test-bug ", "report it: test_bug ")


def clip(text: str, longest: int = LONGEST) -> str:
    """Keeps the beginning and the end of a text that is too long."""
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
    """Describes a run: counts, failures, missing stubs, and the next move.

    `edit_claims`: an edit of source claims the present red, so that the model need not call `edit_claim`.
    """
    counts = Counter(run.status for run in tested.tests)
    summary = ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "no test was run"
    if tested.report is None:
        summary += " (seen before on this very tree)"
    elif tested.report.ended is not RunEnd.FINISHED:
        summary += f"; the run did not end as it should ({tested.report.ended})"
    parts = [summary if tested.phase == Phase.RED else f"{summary}; phase {tested.phase}"]
    report, hindrance = tested.report, tested.hindrance
    if report is not None and hindrance is not None and hindrance.cure:
        # What is there and cannot be loaded needs no advice about the test.
        errors = tuple(error for error in report.errors if error.path and error.path not in hindrance.files)
        report = replace(report, errors=errors)
        parts.append(hindrance.line if hindrance.blocks else f"{hindrance.line}: {hindrance.cure}")
    parts += [feedback.describe_failures(tested.tests, report, withheld=frozenset(withheld), quote=quote)]
    over = {split_id(run.native_id).path for run in tested.tests if run.over}
    if over:
        parts.append("Source lacks names that the test needs: it ran over stubs, and no file holds them.")
    if stubs := [stub for path, of_file in tested.stubs.items() if path not in over for stub in of_file]:
        parts.append("The test needs names that source does not have. These stubs may be written:")
        parts += [f"{one.path}{' (new)' if one.new else ''}:\n{one.text.rstrip()}" for one in stubs]
    parts += [f"perhaps the run lacks something that a person can set: {need.why}" for need in tested.needs]
    if tested.characterized:
        parts.append(f"recorded: {len(tested.characterized)} passing at once (characterization tests)")
    following = in_tools(tested.next)
    if tested.existing:
        parts.append(f"{', '.join(tested.existing)} passes over stubs: assert what the code does.")
    elif tested.stubs and not any(run.red == "valid" for run in tested.tests):
        following = "write the stubs above, then run_tests again"
    elif edit_claims and tested.next.startswith("`tdd claim "):
        following = "edit source"
    return "\n".join([*filter(None, parts), f"next: {following}"])


def describe_footer(judged: Settlement) -> str:
    """Leaves out the move that always follows an acceptance: the system text names it."""
    footer = judged.footer.removesuffix(f"; next: {FIRST_MOVE}") if judged.verdict.accepted else judged.footer
    return in_tools(footer)


def describe_judgement(judged: Settlement, *, withheld: Collection[str], quote: feedback.Quote) -> str:
    """The footer alone if it is accepted; else the reasons and a short footer."""
    if judged.verdict.accepted:
        # The model knows which paths it edited.
        footer = judged.footer.replace(f"; edited {some(judged.paths)}.", ".")
        return describe_footer(replace(judged, footer=footer))
    closing = f"{JUDGED_BEFORE[:1].upper()}{JUDGED_BEFORE[1:]}." if judged.known else _STAY
    footer = f"[tdd] {judged.verdict.kind}; phase {judged.phase}"
    if judged.aside is not None:
        footer += f"; next: {in_tools(judged.next)}"
        closing = (
            f"That was the last try: your edits are set aside as {judged.aside}, and are in no file any more."
        )
    text = feedback.describe_verdict(
        judged.verdict,
        judged.report,
        judged.output,
        withheld=frozenset(withheld),
        quote=quote,
        closing=closing,
    )
    return f"{in_tools(text).strip()}\n{footer}"


def describe_law(state: WorktreeState) -> tuple[str, ...]:
    """Phase, claims, open reds, test-bugs and set-aside edits, a line each."""
    facts = [f"phase {state.phase}"]
    facts += [f"claimed {test_id}" for test_id in state.claims]
    if state.refactor is not None and state.refactor.refused is not None:
        facts.append(str(state.refactor.refused))
    if state.phase is Phase.RED:
        facts += [f"red {red.test_id}: {red.failure}" for red in state.valid_reds]
    facts += [f"test-bug {bug.id} at {', '.join(bug.places)}: {bug.why}" for bug in state.test_bugs.values()]
    facts += [
        f"set aside as {laid.id}: {', '.join(laid.paths)} ({laid.why})" for laid in state.aside.values()
    ]
    return tuple(facts)
