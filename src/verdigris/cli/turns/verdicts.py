"""`tdd settle` and `tdd refactor`: end a turn or a refactor with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from verdigris.cli.context import PERSON, deny, json_option, live, project, show, show_json
from verdigris.cli.testing import unconfined_lines
from verdigris.core.actions import Deny
from verdigris.core.report import Status
from verdigris.core.test_ids import shell_words
from verdigris.core.verdict import Kind
from verdigris.views.lines import Dot, Line, block, count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.verdict import Verdict
    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project
    from verdigris.turns.refactor import Aborted, Begun, RefactorResult
    from verdigris.turns.settle import Settlement


_Ended = TypeVar("_Ended", "Settlement", "RefactorResult")
TAMPERED = 4


@click.command("settle")
@json_option
def settle_command(*, as_json: bool) -> int:
    """Judge the open claims: the claimed tests pass, nothing that passed fails.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.turns.settle import settle

    return _end_with_verdict(settle, settled_document, settled_lines, as_json=as_json)


def _end_with_verdict(
    end: Callable[[Project, Progress | None], Deny | _Ended],
    document: Callable[[_Ended], dict[str, Any]],
    lines: Callable[..., list[Line]],
    *,
    as_json: bool,
) -> int:
    opened = project()
    with live() as progress:
        answer = end(opened, progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(document(answer))
    else:
        show(lines(answer, for_model=opened.actor != PERSON))
    return exit_code(answer.verdict)


def exit_code(verdict: Verdict) -> int:
    match verdict.kind:
        case Kind.ACCEPTED:
            return 0
        case Kind.TAMPERED:
            return TAMPERED
        case _:
            return 1


MOST_OUTPUT = 40


def settled_lines(settlement: Settlement, *, for_model: bool = False) -> list[Line]:
    """A model also gets the footer, which says the same in at most 80 tokens."""
    found = _verdict(settlement.verdict, settlement.accepted) + unconfined_lines(settlement.report)
    for output in settlement.output:
        found += block(output, most=MOST_OUTPUT)
    found += _aside(settlement.aside) or _tries(settlement)
    return found + _end(settlement.next, settlement.footer if for_model else "")


def refactor_lines(ended: RefactorResult, *, for_model: bool = False) -> list[Line]:
    found = _verdict(ended.verdict) + unconfined_lines(ended.report) + _aside(ended.aside)
    return found + _end(ended.next, ended.footer if for_model else "")


def _tries(settlement: Settlement) -> list[Line]:
    """After a first strike: how many are left, what comes then, and the way out."""
    if not settlement.strikes:
        return []
    left = settlement.limit - settlement.strikes
    when = "after the next one" if left == 1 else f"after {left} more"
    native = settlement.claimed[0].rpartition("::")[0] or settlement.claimed[0]
    return [
        Line(
            f"  try {settlement.strikes} of {settlement.limit}: {when} your edits are set aside, "
            "and `tdd restore` brings them back"
        ),
        Line(f'  if the test is wrong: `tdd test-bug {shell_words(native)}:LINE "WHY"`'),
    ]


def settled_document(settlement: Settlement) -> dict[str, Any]:
    return {
        **_common(settlement),
        "tests": _tests(settlement.report, settlement.claimed),
        "accepted": list(settlement.accepted),
    }


def refactor_document(ended: RefactorResult) -> dict[str, Any]:
    return {**_common(ended), "tests": _tests(ended.report, ())}


def _verdict(verdict: Verdict, accepted: Sequence[str] = ()) -> list[Line]:
    """`accepted`: the claims, which the verdict's own line names where it is one."""
    dot: Dot = "green" if verdict.accepted else "red"
    first, *others = accepted or ("",)
    what = count_of(len(accepted), "test") if others else first
    listed = accepted if others else ()
    return [
        Line(f"{verdict.kind}: {what}" if what else f"{verdict.kind}", dot),
        *(Line(f"  {test_id}") for test_id in listed),
        *(Line(f"  {reason}") for reason in verdict.reasons),
        *(Line(f"  concern: {concern}") for concern in verdict.concerns),
    ]


def _aside(aside: str | None) -> list[Line]:
    if not aside:
        return []
    return [Line(f"  your edits are set aside as {aside}: claim again, then `tdd restore {aside}`")]


def _end(following: str, footer: str) -> list[Line]:
    return [Line(f"next: {following}"), *([Line(footer)] if footer else [])]


def _common(end: Settlement | RefactorResult) -> dict[str, Any]:
    return {
        "verdict": end.verdict.kind.value,
        "reasons": list(end.verdict.reasons),
        "concerns": list(end.verdict.concerns),
        "paths": list(end.paths),
        "sandbox": end.report.sandbox if end.report else None,
        "wrote": list(end.report.wrote) if end.report else [],
        "aside": end.aside,
        "phase": end.phase,
        "next": end.next,
        "footer": end.footer,
    }


def _tests(report: TestReport | None, claimed: Sequence[str]) -> list[dict[str, str]]:
    """The claimed ones and those that did not pass."""
    results = report.results if report else ()
    shown = [r for r in results if r.status is not Status.PASS or {r.id, r.native_id} & set(claimed)]
    return [{"id": r.id, "status": r.status.value} for r in shown]


@click.group("refactor")
def refactor_command() -> None:
    """Change the structure and keep the behaviour, proven by the same tests."""


@refactor_command.command("begin")
@click.option("--uncovered", is_flag=True, help="Lines that no test runs may be added (a person's option).")
@json_option
def begin(*, uncovered: bool, as_json: bool) -> int:
    """Run the suite and open the refactor phase on what it shows."""
    from verdigris.turns.refactor import begin

    with live() as progress:
        answer = begin(project(), uncovered=uncovered, progress=progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(begun_document(answer))
    else:
        show(begun_lines(answer))
    return 0


@refactor_command.command("end")
@json_option
def end(*, as_json: bool) -> int:
    """Judge the refactor: same tests, same results, every assertion kept.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.turns.refactor import end

    return _end_with_verdict(end, refactor_document, refactor_lines, as_json=as_json)


@refactor_command.command("abort")
@json_option
def abort(*, as_json: bool) -> int:
    """Set everything aside that the refactor changed."""
    from verdigris.turns.refactor import abort

    answer = abort(project())
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(aborted_document(answer))
    else:
        show(aborted_lines(answer))
    return 0


_NEXT = "restructure, then `tdd refactor end` (or `tdd refactor abort`)"


def begun_lines(begun: Begun) -> list[Line]:
    failed = f", {begun.failed} not" if begun.failed else ""
    free = "; lines that no test runs may be added" if begun.uncovered else ""
    return [
        Line(f"phase refactor: {count_of(begun.passed, 'test')} passed{failed}{free}"),
        Line(f"next: {_NEXT}"),
    ]


def begun_document(begun: Begun) -> dict[str, Any]:
    return {
        "phase": "refactor",
        "passed": begun.passed,
        "failed": begun.failed,
        "uncovered": begun.uncovered,
        "next": _NEXT,
    }


def aborted_document(aborted: Aborted) -> dict[str, Any]:
    return {"aside": aborted.aside, "paths": list(aborted.paths), "next": aborted.next}


def aborted_lines(aborted: Aborted) -> list[Line]:
    if aborted.aside is None:
        return [Line("refactor aborted; nothing had changed"), Line(f"next: {aborted.next}")]
    return [
        Line(f"refactor aborted; set aside as {aborted.aside}: {', '.join(aborted.paths)}"),
        Line(f"next: {aborted.next}"),
    ]
