"""What goes back to a role whose step failed: short, exact, and nothing of held-out tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeAlias

from verdigris.core.debts import UNASKED
from verdigris.core.report import RunEnd, Status, TestReport, TestResult
from verdigris.core.verdict import Kind, Verdict, first_line
from verdigris.core.verdict.redness import VALID, WHY_NOT, judge_collect_error
from verdigris.models.roles.prompt import put_fences, shown_file

if TYPE_CHECKING:
    from verdigris.core.actions import Deny
    from verdigris.core.events import TestRun
    from verdigris.models.roles.answer import RefusedAnswer
    from verdigris.models.roles.context import Material

Quote: TypeAlias = Callable[[str, int], str]
"""Path and line → the line's text as it was judged, to be said after its number: formatters move lines."""
_LATER = "Remove it; a later test will ask."


def _quote_nothing(_: str, __: int) -> str:
    return ""


_MOST_TESTS = 5
_MOST_RUNS = 12
_MOST_LINES = 25
_LINE = 300
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_TAKEN_BACK = (
    "Your edits were taken back: every file is as it was shown to you. Answer again, with all the edits."
)

_MEANS = {
    Kind.STILL_RED: "The red test does not pass yet.",
    Kind.REGRESSED: "Something that passed before does not pass any more.",
    Kind.WEAKENED: "Tests were lost or made weaker, and a suite only grows stronger.",
    Kind.HOLLOW: "The green does not depend on what the tests assert.",
    Kind.OVERFIT: (
        "The tests that you were shown pass; others of the same behaviour, which you are not shown, do not."
        " Implement the behaviour that is described, not the examples of the tests."
    ),
    Kind.TAMPERED: "Something that was frozen has changed.",
    Kind.BROKEN: "The tests did not run to their end, so nothing was shown.",
}

_OF_TOOLS = ("check failed", "format failed", "verify failed")
_UNPROVEN = "The suite passes, but it does not show that behaviour is as it was."


def earlier_attempts(tried: Sequence[str]) -> str:
    """How the attempts before the last one failed, a line each."""
    if not tried:
        return ""
    lines = [f"{number}. {_clip(why)}" for number, why in enumerate(tried, 1)]
    return "\nYour attempts before that, and why they failed:\n" + "\n".join(lines) + "\n"


def _clip(why: str) -> str:
    flat = " ".join(why.split())
    return flat if len(flat) <= _LINE else f"{flat[:_LINE]}…"


def refused_answer(refused: RefusedAnswer, material: Material) -> str:
    """After an answer that was not carried out."""
    tree = material.tree
    shown = [shown_file(path, tree[path] or "") for path in refused.unseen if tree.get(path)]
    now = ["These files as they are now:", *shown] if shown else []
    return _join_parts(
        "Your answer was not used:", _list_lines(refused.reasons), *now, "Answer again, in full."
    )


def describe_denial(deny: Deny) -> str:
    """After a write that the law refused; its next moves are meant for a shell, so they are left out."""
    return _join_parts(f"The edits were refused [{deny.rule}]: {deny.reason}", _TAKEN_BACK)


def wrong_red(
    tests: Sequence[TestRun],
    report: TestReport | None,
    *,
    withheld: AbstractSet[str] = frozenset(),
    passing: Sequence[str] = (),
    stubbed: bool = False,
    quote: Quote = _quote_nothing,
) -> str:
    """After a tester's edits that left no test red for the right reason.

    `passing`: the new tests among those that pass; `stubbed`: they came with stubs.
    """
    lines = _no_reds(tests, report, withheld)
    return _join_parts(
        "No test is red for the right reason:",
        _list_lines(lines[:_MOST_TESTS] or [_nothing_red(tests, report, passing, stubbed=stubbed)]),
        *_details(report, withheld, quote),
        _TAKEN_BACK,
    )


def describe_spoilt(
    tests: Sequence[TestRun], report: TestReport | None, *, withheld: AbstractSet[str] = frozenset()
) -> str:
    """After a tester's edits with a good red, besides which these tests should pass, or be red as well."""
    names = [run.test_id for run in tests if _is_open(run.native_id, withheld)]
    lines = [*(f"{name}: does not pass" for name in names), *_not_loaded(report, withheld)]
    return _join_parts(
        "There is a good red, but something else does not pass that should:",
        _list_lines(lines[:_MOST_TESTS]),
        *_details(report, withheld),
        _TAKEN_BACK,
    )


def describe_verdict(
    verdict: Verdict,
    report: TestReport | None,
    output: Iterable[str] = (),
    *,
    withheld: AbstractSet[str] = frozenset(),
    quote: Quote = _quote_nothing,
    closing: str = _TAKEN_BACK,
) -> str:
    """After a settlement or a refactor that was not accepted; `output`: what failing commands said.

    `closing`: what became of the edits.
    """
    means = _UNPROVEN if verdict.unproven else _MEANS.get(verdict.kind, "")
    head = f"Not accepted [{verdict.kind}]. {means}".rstrip()
    if verdict.kind is Kind.OVERFIT:
        return _join_parts(head, closing)
    unasked = [_quote_place(reason, quote) for reason in verdict.reasons if reason.startswith(UNASKED)]
    if unasked and len(unasked) == len(verdict.reasons):
        return _join_parts("You wrote code that no test asks for:", _list_lines(unasked), _LATER, closing)
    details = _details(report, withheld, quote)
    if verdict.reasons and all(reason.startswith(_OF_TOOLS) for reason in verdict.reasons):
        head = "Not accepted: the tests pass, a command of the project does not."
    # A failure that is shown in full below is not listed here as well.
    said = tuple(f"{result.id}: " for result in _failing_results(report, withheld)[:_MOST_TESTS])
    hidden = tuple(withheld)
    reasons = [r for r in verdict.reasons if not r.startswith(said) and not any(path in r for path in hidden)]
    printed = [put_fences(_tail(text)) for text in output if text.strip()]
    # What keeps a file from loading says more than that its tests are missing.
    told = _not_loaded(report, withheld) or once_each(reasons)
    return _join_parts(head, _list_lines(told), *details, *printed, closing)


def causes(verdict: Verdict, report: TestReport | None) -> str:
    """The reasons of a verdict on one line for people; files that do not load come before missing tests."""
    errors = report.errors if report is not None else ()
    unloaded = [f"{error.path}: {error.kind}: {_plain(first_line(error.message))}" for error in errors]
    return "; ".join(dict.fromkeys(unloaded) or once_each(verdict.reasons))


def tool_failed(name: str, command: str, output: str) -> str:
    """After a formatter, a linter or a commit hook that did not succeed."""
    return _join_parts(f"{name} failed (`{command}`):", put_fences(_tail(output)), _TAKEN_BACK)


def not_allowed(reason: str) -> str:
    """After edits that a limit of the machine's forbids: a refactor too large, coverage lowered …"""
    return _join_parts(f"The edits were not accepted: {reason}", _TAKEN_BACK)


def once_each(reasons: Iterable[str]) -> list[str]:
    """One line per cause: a cause that several tests share is listed once, with their number."""
    causes: dict[str, list[str]] = {}
    for reason in reasons:
        test, colon, cause = reason.partition(": ")
        alike = cause if colon and "::" in test else reason
        causes.setdefault(alike, []).append(reason)
    return [
        same[0] if len(same) == 1 else f"{cause} (in {len(same)} tests)" for cause, same in causes.items()
    ]


# -- pieces -----------------------------------------------------------------------------------


def _join_parts(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _list_lines(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def describe_failures(
    tests: Sequence[TestRun],
    report: TestReport | None,
    *,
    withheld: AbstractSet[str],
    quote: Quote,
) -> str:
    """What did not pass in a run: which are reds, why others are none, and the failures themselves."""
    valid = [run.test_id for run in tests if run.red == VALID and _is_open(run.native_id, withheld)]
    shown = {result.id for result in _one_a_cause(_failing_results(report, withheld))[:_MOST_TESTS]}
    reds = [f"red {test_id}" for test_id in valid if test_id not in shown]
    told = [*reds, *_no_reds(tests, report, withheld)]
    more = [f"… and {len(told) - _MOST_RUNS} more"] if len(told) > _MOST_RUNS else []
    details = _details(report, withheld, quote, frozenset(valid))
    return _join_parts(_list_lines([*told[:_MOST_RUNS], *more]), *details).strip()


def _no_reds(tests: Sequence[TestRun], report: TestReport | None, withheld: AbstractSet[str]) -> list[str]:
    """Why tests that fail are no reds, and why files do not load."""
    lines = []
    for run in tests:
        if run.red not in {None, VALID} and _is_open(run.native_id, withheld):
            why, following = _why_not(run.red or "")
            place = f" at {run.place}" if run.place else ""
            seen = f" ({_plain(run.failure)}{place})" if run.failure else ""
            lines.append(f"{run.test_id}: {why}{seen}; {following}")
    return [*lines, *_not_loaded(report, withheld)]


def _why_not(code: str) -> tuple[str, str]:
    why, following = WHY_NOT.get(code, (code, "revise the test"))
    return why, following.replace(" and run `tdd test` again", "")


def _quote_place(reason: str, quote: Quote) -> str:
    place = reason.removeprefix(UNASKED).partition(": ")[0]
    path, _, line = place.partition(" ")[0].rpartition(":")
    return f"{place}{quote(path, int(line)) if line.isdecimal() else ''}"


def _nothing_red(
    tests: Sequence[TestRun], report: TestReport | None, passing: Sequence[str] = (), *, stubbed: bool = False
) -> str:
    if report is not None and report.ended is not RunEnd.FINISHED:
        return f"the test run did not end as it should ({report.ended})"
    if passing and stubbed:
        return f"`{passing[0]}` passes with the stub you wrote. Make the stub return a wrong value."
    if passing:
        return f"`{passing[0]}` passes already, so it asks for nothing new."
    return "every test passes already, so none asks for something new" if tests else "no test was run"


def _not_loaded(report: TestReport | None, withheld: AbstractSet[str]) -> list[str]:
    found = []
    for error in report.errors if report is not None else ():
        if error.path not in withheld:
            why, following = _why_not(judge_collect_error(error))
            found.append(
                f"{error.path}: {why} ({error.kind}: {_plain(first_line(error.message))}); {following}"
            )
    return found


def _failing_results(report: TestReport | None, withheld: AbstractSet[str]) -> list[TestResult]:
    results = report.results if report is not None else ()
    bad = {Status.FAIL, Status.ERROR}
    return [result for result in results if result.status in bad and _is_open(result.native_id, withheld)]


def _details(
    report: TestReport | None,
    withheld: AbstractSet[str],
    quote: Quote = _quote_nothing,
    reds: AbstractSet[str] = frozenset(),
) -> list[str]:
    """The failures in full length, as far as that is short; where nothing ended properly, the last lines."""
    if report is None:
        return []
    failed = _failing_results(report, withheld)
    failed = _one_a_cause(failed)
    more = [f"… and {len(failed) - _MOST_TESTS} more that fail"] if len(failed) > _MOST_TESTS else []
    long = [e.message for e in report.errors if e.path not in withheld and "\n" in e.message.strip()]
    found = [
        *(f"{'red ' * (one.id in reds)}{_result(one, quote)}" for one in failed[:_MOST_TESTS]),
        *more,
        *(put_fences(_head(text)) for text in long[:_MOST_TESTS]),
    ]
    if found or report.ended is RunEnd.FINISHED or any(path in report.tail for path in withheld):
        return found
    return [put_fences(_tail(report.tail))] if report.tail.strip() else []


def _one_a_cause(failed: list[TestResult]) -> list[TestResult]:
    """Tests that never came to their call fail alike, for what keeps their file from loading."""
    found: dict[tuple[str, str], TestResult] = {}
    for result in failed:
        failure = result.failure
        same = (
            (failure.kind, failure.message) if failure and result.status is Status.ERROR else (result.id, "")
        )
        found.setdefault(same, result)
    return list(found.values())


def _result(result: TestResult, quote: Quote = _quote_nothing) -> str:
    failure = result.failure
    if failure is None:
        return f"{result.id}: {result.status}"
    at = failure.place
    place = f" at {at.path}:{at.line}{quote(at.path, at.line)}" if at else ""
    message = _head(failure.message)
    told = f":\n{put_fences(message)}" if "\n" in message else f": {message}" if message else ""
    return f"{result.id}: {failure.kind}{place}{told}"


def _is_open(native_id: str, withheld: AbstractSet[str]) -> bool:
    return not any(native_id == path or native_id.startswith(f"{path}::") for path in withheld)


def _plain(text: str) -> str:
    """Takes out addresses of objects: they mean nothing, and differ from run to run."""
    return _ADDRESS.sub("0x…", text)


def _head(text: str) -> str:
    lines = [line[:_LINE] for line in _plain(text).strip().splitlines()]
    more = [f"… {len(lines) - _MOST_LINES} lines more"] if len(lines) > _MOST_LINES else []
    return "\n".join([*lines[:_MOST_LINES], *more])


def _tail(text: str) -> str:
    lines = [line[:_LINE] for line in _plain(text).strip().splitlines()]
    cut = [f"({len(lines) - _MOST_LINES} lines before)"] if len(lines) > _MOST_LINES else []
    return "\n".join([*cut, *lines[-_MOST_LINES:]])
