"""`tdd settle`: ends the turn with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import PERSON, live, project
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.cli.testing import unconfined_lines
from verdigris.core.actions import Deny
from verdigris.core.report import Status
from verdigris.core.test_ids import shell_words
from verdigris.core.verdict import Kind
from verdigris.views.lines import Dot, Line, block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.verdict import Verdict
    from verdigris.turns.refactor import RefactorResult
    from verdigris.turns.settle import Settlement


TAMPERED = 4


@click.command("settle")
@json_option
def command(*, as_json: bool) -> int:
    """Judge the open claims: the claimed tests pass, nothing that passed fails.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.turns.settle import settle

    opened = project()
    with live() as progress:
        answer = settle(opened, progress)
    if isinstance(answer, Deny):
        return deny(answer, as_json=as_json)
    if as_json:
        show_json(settled_document(answer))
    else:
        show(settled_lines(answer, for_model=opened.actor != PERSON))
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
    found = _verdict(settlement.verdict) + unconfined_lines(settlement.report)
    found += [Line(f"accepted: {test_id}", "green") for test_id in settlement.accepted]
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


def _verdict(verdict: Verdict) -> list[Line]:
    dot: Dot = "green" if verdict.accepted else "red"
    reasons = [Line(f"  {reason}") for reason in verdict.reasons]
    return [Line(f"{verdict.kind}", dot), *reasons, *(Line(f"  concern: {c}") for c in verdict.concerns)]


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
