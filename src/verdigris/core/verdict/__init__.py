"""Judges what a run proves about the claims or about a refactor, and writes the footer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import takewhile

from verdigris.core.paths import from_elsewhere
from verdigris.core.report import RunEnd, Status, TestReport
from verdigris.core.test_ids import some
from verdigris.core.value import field, value

_LONGEST_LINE = 160
_VALUE = r"(?i)(?:left|right|expected|received|actual)\b[\w ]*: "


class Kind(StrEnum):
    """`docs/troubleshooting.md` lists these sentences."""

    ACCEPTED = "accepted"
    """Proven; the tree is the new baseline. Next: commit."""
    STILL_RED = "still-red"
    """A claimed test does not pass. Next: edit and settle again."""
    REGRESSED = "regressed"
    """Something that passed before fails; in a refactor also: no test shows that what changed behaves as
    before. Next: mend it; or test it first, or a person says `tdd refactor begin --uncovered`.
    """
    WEAKENED = "weakened"
    """A test or an assertion went missing. Next: put it back."""
    HOLLOW = "hollow"
    """The test passes with a false expectation too, or none of its assertions ran. Next: compute the answer
    instead of recognising it.
    """
    OVERFIT = "overfit"
    """Held-out tests fail. Next: solve the general case."""
    TAMPERED = "tampered"
    """Frozen files or the test tool changed since the claim. Next: it was put back, or put it back; after an
    `npm install`, claim again.
    """
    BROKEN = "broken"
    """The run did not end properly, or cannot be trusted. Next: the reason names the file or the tool."""


STRIKES = frozenset(Kind) - {Kind.ACCEPTED, Kind.TAMPERED, Kind.BROKEN}
"""Verdicts that count against a claim."""


@value
class Tool:
    """How a configured command (check, verify) ended."""

    name: str
    command: str
    ok: bool
    output: str = ""


@value
class Before:
    """The results of tests at the turn's start."""

    statuses: Mapping[str, Status]
    """By native id, on the start tree: of the tests that now fail or are missing."""
    unstable: frozenset[str] = frozenset()
    """Ids that both passed and failed on one tree."""
    uncollected: tuple[str, ...] = ()
    """Of the ground: tests that are still written and not collected any more, or have fewer cases."""


JUDGED_BEFORE = "this tree was judged before, and nothing was run again; after `tdd test` it is judged anew"


@value
class Verdict:
    kind: Kind
    reasons: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    """Claimed test ids that do not pass."""
    unproven: bool = False
    """Of a refactor: every test passes; nothing shows that behaviour was kept."""

    @property
    def accepted(self) -> bool:
        return self.kind is Kind.ACCEPTED


@value
class TrialFacts:
    """The facts that a settlement found about its tree."""

    claimed: Mapping[str, str]
    """Test id → native id."""
    before: Before
    after: TestReport
    drift: tuple[str, ...] = ()
    """Oracle paths that changed since they were frozen."""
    moved: tuple[str, ...] = ()
    """Source that changed while the tests ran."""
    rewritten: tuple[str, ...] = ()
    """Frozen files that the run itself wrote to."""
    changed: bool = True
    """The turn has edits."""
    tools: tuple[Tool, ...] = ()
    held_out: bool = True
    """The held-out tests pass; which of them fail is withheld."""
    doubted: tuple[str, ...] = ()
    """Why the check of the assertions proves nothing."""
    blocking: tuple[str, ...] = ()
    """Other findings about the edits and the assertions that refuse the verdict."""
    weakened: tuple[str, ...] = ()
    """Assertions that tests make through source, and that became weaker."""
    noted: tuple[str, ...] = ()
    """Other findings, which refuse nothing."""


def judge(facts: TrialFacts) -> Verdict:
    claimed, before, after = facts.claimed, facts.before, facts.after
    unstable = (f"unstable: {i} both passes and fails on one tree" for i in sorted(before.unstable))
    concerns = (*unstable, *facts.noted)
    drifted = tuple(f"{path} changed while it was frozen" for path in facts.drift)
    if drifted:
        return Verdict(Kind.TAMPERED, drifted, concerns)
    doubts = (
        *reasons_against_run(after),
        *(f"{path} changed while the tests ran: run `tdd settle` again" for path in facts.moved),
        *map(describe_rewrite, facts.rewritten),
    )
    if doubts:
        return Verdict(Kind.BROKEN, doubts, concerns, tuple(claimed))
    status = {r.native_id: r.status for r in after.results}
    failing = tuple(i for i, native in claimed.items() if status.get(native) is not Status.PASS)
    if failing:
        reasons = tuple(reason_for(after, claimed[i], i) for i in failing)
        return Verdict(Kind.STILL_RED, reasons, concerns, failing)
    if not facts.changed:
        why = "the claimed tests pass although nothing was edited: the red was not stable"
        return Verdict(Kind.BROKEN, (why,), concerns)
    if before.uncollected:
        return Verdict(Kind.WEAKENED, before.uncollected, concerns)
    lost = tuple(reason_for(after, i, i) for i in regressions(before, after, claimed.values()))
    failed_tools = tuple(f"{t.name} failed: {t.command}" for t in facts.tools if not t.ok)
    if lost or failed_tools:
        return Verdict(Kind.REGRESSED, (*lost, *failed_tools), concerns)
    return judge_answers(
        facts.doubted, facts.blocking, concerns, held_out=facts.held_out, weakened=facts.weakened
    )


def judge_answers(
    doubted: Iterable[str],
    blocking: Iterable[str],
    concerns: tuple[str, ...],
    *,
    held_out: bool,
    weakened: Iterable[str],
) -> Verdict:
    """Judges code whose tests pass; the arguments mean what they mean in `TrialFacts`."""
    if less := tuple(weakened):
        return Verdict(Kind.WEAKENED, less, concerns)
    if unproven := tuple(doubted):
        return Verdict(Kind.BROKEN, unproven, concerns)
    if hollow := tuple(blocking):
        return Verdict(Kind.HOLLOW, hollow, concerns)
    if not held_out:
        return Verdict(Kind.OVERFIT, ("a held-out test fails",), concerns)
    return Verdict(Kind.ACCEPTED, (), concerns)


def describe_rewrite(path: str) -> str:
    return (
        f"the test run itself wrote {path}, so what it judged is not the tree on disk; have it write to a"
        " temporary folder, or name the file under `generated` in tdd.yaml"
    )


def regressions(before: Before, after: TestReport, claimed: Iterable[str]) -> tuple[str, ...]:
    """Native ids that passed at the start and are not reported as passed now; missing is not a pass."""
    passed = {r.native_id for r in after.results if r.status is Status.PASS}
    exempt = before.unstable | set(claimed)
    return tuple(
        i for i, s in before.statuses.items() if s is Status.PASS and i not in passed and i not in exempt
    )


CONTRADICTIONS = frozenset({"ExitCode", "ReportedTwice", "Miscounted"})
"""Kinds of errors that show that a report contradicts itself."""


def reasons_against_run(after: TestReport) -> tuple[str, ...]:
    tail = after.tail.strip().splitlines()[-1:] or ["it said nothing"]
    match after.ended:
        case RunEnd.FINISHED if after.strays:
            return ("something other than the reporter wrote on its channel",)
        case RunEnd.FINISHED:
            contradictions = (error.message for error in after.errors if error.kind in CONTRADICTIONS)
            return (*contradictions, *from_elsewhere(after))
        case RunEnd.TIMEOUT:
            return ("the test run did not end in time",)
        case RunEnd.DIED:
            return (f"the test run died: {tail[0]}",)
        case RunEnd.EARLY_EXIT:
            return ("the test process exited before every collected test was reported",)
        case RunEnd.NO_START:
            return (f"the test runner did not start: {tail[0]}",)


def reason_for(after: TestReport, native: str, shown: str) -> str:
    result = next((r for r in after.results if r.native_id == native), None)
    if result is None:
        error = next((x for x in after.errors if native.startswith(x.path)), None)
        return (
            f"{shown}: not run" if error is None else f"{shown}: not collected: {first_line(error.message)}"
        )
    if result.status is Status.SKIP:
        return f"{shown}: skipped; a skip is not a pass"
    if result.failure is None:
        return f"{shown}: {result.status}"
    place = result.failure.own_place
    at = "" if place is None else f" at {place.path}:{place.line}"
    return f"{shown}: {result.failure.kind}{at}: {first_line(result.failure.message)}"


def first_line(message: str) -> str:
    """The first line, with the values that failed if they stand on the lines after it."""
    line, *rest = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    if line.endswith(":"):
        line = " ".join([line, *rest[:1]])
    else:
        line = ", ".join([line, *takewhile(partial(re.match, _VALUE), rest)])
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


@value
class LostAssertion:
    path: str
    line: int
    what: str


@value
class Restructured:
    """The facts that were found at the end of a refactor."""

    before: Mapping[str, Status]
    """Native ids at its beginning."""
    after: TestReport
    frozen: tuple[str, ...] = ()
    """Specification, switches and runner keys that changed."""
    findings: tuple[LostAssertion, ...] = ()
    """Assertions that were not kept."""
    added: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """New executable lines that tests must run."""
    tools: tuple[Tool, ...] = ()
    moved: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    """Source, tests, data and specs that the run itself wrote."""
    undermined: tuple[str, ...] = ()
    """Parts of the foundation that changed since the beginning."""
    noted: tuple[str, ...] = ()
    """Other findings about the run."""


def judge_refactor(change: Restructured) -> Verdict:
    changed = (*change.frozen, *change.undermined)
    if changed:
        reasons = tuple(f"{path} changed in a refactor" for path in changed)
        return Verdict(Kind.TAMPERED, reasons, change.noted)
    broken = (
        *reasons_against_run(change.after),
        *(f"{path} changed while the tests ran: run `tdd refactor end` again" for path in change.moved),
        *map(describe_rewrite, change.rewritten),
    )
    if broken and (change.before or change.after.results):
        return Verdict(Kind.BROKEN, broken, change.noted)
    if change.findings:
        weaker = tuple(f"{f.path}:{f.line}: {f.what}" for f in change.findings)
        return Verdict(Kind.WEAKENED, weaker, change.noted)
    lost = _find_lost(change)
    tools = tuple(f"{t.name} failed: {t.command}" for t in change.tools if not t.ok)
    unrun = _unrun(change)
    if lost or tools or unrun:
        reasons = (*lost, *tools, *unrun)
        return Verdict(Kind.REGRESSED, reasons, change.noted, unproven=not lost and not tools)
    return Verdict(Kind.ACCEPTED, (), change.noted)


def _find_lost(change: Restructured) -> tuple[str, ...]:
    """Each test that passed still does, under its own name or, one to one, under a new one."""
    reported = {r.native_id for r in change.after.results}
    failing = [i for i in regressions(Before(change.before), change.after, ()) if i in reported]
    return (
        *(reason_for(change.after, i, i) for i in failing),
        *(
            f"{i}: passed before and is missing now; no renamed test takes its place"
            for i in missing_tests(change)
        ),
    )


def missing_tests(change: Restructured) -> tuple[str, ...]:
    """Tests that passed before a refactor and that no new test replaces."""
    reported = {r.native_id for r in change.after.results}
    gone = [i for i in regressions(Before(change.before), change.after, ()) if i not in reported]
    passing = (r for r in change.after.results if r.status is Status.PASS)
    renamed_to = [r for r in passing if r.native_id not in change.before]
    return tuple(gone[len(renamed_to) :])


def _unrun(change: Restructured) -> tuple[str, ...]:
    reasons = []
    for path, lines in change.added.items():
        idle = sorted(lines - change.after.lines.get(path, frozenset()))
        if idle:
            reasons.append(f"{path}:{idle[0]} is new and no test runs it ({len(idle)} such lines)")
    return tuple(reasons)


LIMIT = 240
"""Characters: 80 tokens, at three characters a token, the worst ratio for such text."""


def footer(verdict: Verdict, claimed: Sequence[str], paths: Sequence[str], phase: str, following: str) -> str:
    """Verdict first, next move last; the middle is shortened to fit."""
    head = f"[tdd] {verdict.kind}"
    tail = f"phase {phase}; next: {following}"
    subject = verdict.reasons[0] if verdict.reasons else f"{some(claimed)}{_first_concern(verdict)}"
    middle = f"{subject}; edited {some(paths)}" if paths else subject
    room = LIMIT - len(head) - len(_shorten(tail, LIMIT // 2)) - len(": . ")
    return f"{head}: {_shorten(middle, room)}. {_shorten(tail, LIMIT // 2)}"


def _first_concern(verdict: Verdict) -> str:
    count = len(verdict.concerns)
    return f"; {count} concern{'s'[: count > 1]}: {verdict.concerns[0]}" if count else ""


def _shorten(text: str, limit: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
