"""`tdd test`, `stub`, `claim`, `settle`, `refactor`: run tests, cite reds, and end a turn with a verdict."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    OWED,
    PERSON,
    here,
    json_option,
    live,
    next_here,
    pick,
    project,
    show_result,
    tests_and_paths,
)
from verdigris.cli.group import OfferingGroup
from verdigris.cli.testing import run, stub_and_run, unconfined_lines
from verdigris.core.actions import Deny
from verdigris.core.debts import list_debts
from verdigris.core.policy.next_move import RESTRUCTURE
from verdigris.core.report import Status, TestReport
from verdigris.core.verdict import JUDGED_BEFORE, Kind, Verdict
from verdigris.views.lines import Dot, Line, block, count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.runners.protocol import Progress
    from verdigris.storage.project import Project
    from verdigris.turns.claim_check import Claimed
    from verdigris.turns.refactor import Aborted, Begun
    from verdigris.turns.settle import Settlement


@click.command("test")
@click.argument("words", nargs=-1, metavar="[ID|PATH]...", shell_complete=tests_and_paths)
@json_option
@click.option("--quiet", "-q", is_flag=True, help="Only the summary.")
@click.option("--verbose", "-v", is_flag=True, help="Tracebacks, whole messages and output of every failure.")
def test_command(words: tuple[str, ...], *, as_json: bool, quiet: bool, verbose: bool) -> int:
    """Run tests by id, file or folder; all of the suite without a name.

    One failure is shown with its traceback, several with -v. A bare test name will do where only one test
    has it. A failure for the right reason prepares a claim.

    Exit code: 0 all passed, 1 some did not, 124 out of time.
    """
    return run(words, as_json=as_json, quiet=quiet, verbose=verbose)


@click.command("stub")
@click.argument("test", metavar="TEST_ID|PATH", shell_complete=tests_and_paths)
@json_option
def stub_command(test: str, *, as_json: bool) -> int:
    """Write stubs for what a test needs and source lacks, and run it.

    Names come from the imports of the test's file, signatures from its calls. New files are made where the
    import looks for them; nothing that exists is changed. The stubs are marked STUB:TDD and fail when they
    are called, so that the test is red for the right reason; an accepted turn leaves none behind.

    Exit code: 0, whatever the run shows; 3 denied.
    """
    return stub_and_run(test, as_json=as_json)


@click.command("claim")
@click.argument("words", nargs=-1, metavar="[TEST...] [PATH...]", shell_complete=tests_and_paths)
@json_option
def claim_command(words: tuple[str, ...], *, as_json: bool) -> int:
    """Claim that editing PATH... advances the red tests TEST...

    TEST is an id, a function with all its cases, a test file, or a bare test name. Without one, the claim
    takes the reds that this change brought: tests that are new, changed, or passed before it. PATH is a file,
    a folder or a glob, and need not exist yet; without one, the claim is on all source. The first claim
    freezes the tests.
    """
    from verdigris.turns.claim import claim, split_words

    opened = project()
    tests, targets = split_words(opened, words, cwd=here())
    answer = claim(opened, tests, targets, cwd=here())
    phase, following = opened.state().phase, next_here(opened)
    lines = partial(claim_lines, phase=phase, following=following)
    document = partial(claim_document, phase=phase, following=following)
    return show_result(answer, lines, document, as_json=as_json)


_LISTED = 5


def claim_lines(claimed: Claimed, phase: str, following: str) -> list[Line]:
    targets = ", ".join(_target(claimed, path) for path in claimed.targets)
    first, *others = claimed.test_ids
    if others:
        lines = [Line(f"claimed {len(claimed.test_ids)} tests → {targets}; phase {phase}", "red")]
        lines += [Line(f"  {test_id}") for test_id in claimed.test_ids[:_LISTED]]
        rest = len(claimed.test_ids) - _LISTED
        lines += [Line(f"  and {rest} more")] if rest > 0 else []
    else:
        lines = [Line(f"claimed {first} → {targets}; phase {phase}", "red")]
    if claimed.restored:
        lines.append(Line(f"your edits are back: {', '.join(claimed.restored)}"))
    lines += [
        Line(f"still set aside: {i} conflicts with the tree; merge it by hand (`tdd restore {i} --show`)")
        for i in claimed.held_back
    ]
    lines += [Line(f"  concern: {concern}") for concern in claimed.concerns]
    lines += [Line(f"  {weak}", "yellow") for weak in claimed.weak]
    return [*lines, Line(f"next: {following}")]


def _target(claimed: Claimed, path: str) -> str:
    if path == ".":
        return "all source"
    if path not in claimed.new:
        return path
    alike = claimed.alike.get(path)
    return f"{path} (new; did you mean {alike}?)" if alike else f"{path} (new)"


def claim_document(claimed: Claimed, phase: str, following: str) -> dict[str, Any]:
    return {
        "claimed": claimed.test_ids[0],
        "tests": list(claimed.test_ids),
        **pick(claimed, "targets", "new", "restored", "held_back", "concerns", "weak", "untried"),
        "phase": phase,
        "next": following,
    }


TAMPERED = 4


@click.command("settle")
@click.option("--owe", is_flag=True, help="Accept new code that no test runs, as a debt (a person's option).")
@click.option("--watch", is_flag=True, help="Judge after each save, a line each, until Ctrl-C.")
@json_option
def settle_command(*, owe: bool, watch: bool, as_json: bool) -> int:
    """Judge the change: its tests were red without it and pass now, and tests run all of it.

    An agent's reds were claimed before it edited source; a person may write in any order and settle once.

    A decision of the new code that no test notices is accepted and owed: `tdd status` lists it until a test
    notices it or it is gone.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    if watch:
        from verdigris.cli.save_watch import watch_saves

        return watch_saves(project())
    from verdigris.turns.settle import settle

    return _end_with_verdict(partial(settle, owe=owe), settled_document, as_json=as_json)


def _end_with_verdict(
    end: Callable[[Project, Progress | None], Deny | Settlement],
    document: Callable[[Settlement], dict[str, Any]],
    *,
    as_json: bool,
) -> int:
    opened = project()
    with live() as progress:
        answer = end(opened, progress)
    lines = partial(settled_lines, for_model=opened.actor != PERSON)
    shown = show_result(answer, lines, document, as_json=as_json)
    return shown if isinstance(answer, Deny) else exit_code(answer.verdict)


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
    found += [Line(f"  {JUDGED_BEFORE}")] if settlement.known else []
    for output in settlement.output:
        found += block(output, most=MOST_OUTPUT)
    found += [Line(f"  owed: {text}", "yellow") for text in list_debts(settlement.owed)]
    found += [Line(f"  paid: `{debt.what}` in {debt.path}") for debt in settlement.paid]
    if aside := settlement.aside:
        found.append(Line(f"  your edits are set aside as {aside}: claim again, then `tdd restore {aside}`"))
    elif settlement.strikes:
        found += _tries(settlement)
    found.append(Line(f"next: {settlement.next}"))
    return [*found, Line(settlement.footer)] if for_model else found


def _tries(settlement: Settlement) -> list[Line]:
    """After a first strike: how many are left, what comes then, and the way out."""
    left = settlement.limit - settlement.strikes
    when = "after the next one" if left == 1 else f"after {left} more"
    return [
        Line(
            f"  try {settlement.strikes} of {settlement.limit}: {when} your edits are set aside, "
            "and `tdd restore` brings them back"
        ),
        Line(f"  {settlement.report_wrong}"),
    ]


def settled_document(settlement: Settlement) -> dict[str, Any]:
    return {
        **_document(settlement),
        "accepted": list(settlement.accepted),
        "owed": [pick(debt, *OWED) for debt in settlement.owed],
    }


def refactor_document(end: Settlement) -> dict[str, Any]:
    return {**_document(end), "known": end.known}


def _document(end: Settlement) -> dict[str, Any]:
    return {
        "verdict": end.verdict.kind.value,
        **pick(end.verdict, "reasons", "concerns"),
        "sandbox": end.report.sandbox if end.report else None,
        "wrote": list(end.report.wrote) if end.report else [],
        **pick(end, "paths", "aside", "phase", "next", "footer"),
        "tests": _tests(end.report, end.claimed),
    }


def _verdict(verdict: Verdict, accepted: Sequence[str] = ()) -> list[Line]:
    """The verdict has a line of its own, by which scripts know it; `accepted`: the claims, below it."""
    dot: Dot = "green" if verdict.accepted else "red"
    return [
        Line(f"{verdict.kind}", dot),
        *(Line(f"  {test_id}") for test_id in accepted),
        *(Line(f"  {reason}") for reason in verdict.reasons),
        *(Line(f"  concern: {concern}") for concern in verdict.concerns),
    ]


def _tests(report: TestReport | None, claimed: Sequence[str]) -> list[dict[str, str]]:
    """The claimed ones and those that did not pass."""
    results = report.results if report else ()
    shown = [r for r in results if r.status is not Status.PASS or {r.id, r.native_id} & set(claimed)]
    return [{"id": r.id, "status": r.status.value} for r in shown]


@click.group("refactor", cls=OfferingGroup)
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
    return show_result(answer, begun_lines, begun_document, as_json=as_json)


@refactor_command.command("end")
@json_option
def end(*, as_json: bool) -> int:
    """Judge the refactor: same tests, same results, every assertion kept.

    Exit code: 0 accepted, 1 not accepted, 3 denied, 4 tampered.
    """
    from verdigris.turns.refactor import end

    return _end_with_verdict(end, refactor_document, as_json=as_json)


@refactor_command.command("abort")
@json_option
def abort(*, as_json: bool) -> int:
    """Set everything aside that the refactor changed."""
    from verdigris.turns.refactor import abort

    answer = abort(project())
    return show_result(
        answer, aborted_lines, lambda aborted: pick(aborted, "aside", "paths", "next"), as_json=as_json
    )


def begun_lines(begun: Begun) -> list[Line]:
    failed = f", {begun.failed} not" if begun.failed else ""
    failed += f"; {begun.hindrance.line}" if begun.hindrance else ""
    free = "; lines that no test runs may be added" if begun.uncovered else ""
    return [
        Line(f"phase refactor: {count_of(begun.passed, 'test')} passed{failed}{free}"),
        Line(f"next: {RESTRUCTURE}"),
    ]


def begun_document(begun: Begun) -> dict[str, Any]:
    return {
        "phase": "refactor",
        **pick(begun, "passed", "failed", "uncovered"),
        "hindrance": begun.hindrance.line if begun.hindrance else "",
        "next": RESTRUCTURE,
    }


def aborted_lines(aborted: Aborted) -> list[Line]:
    if aborted.aside is None:
        return [Line("refactor aborted; nothing had changed"), Line(f"next: {aborted.next}")]
    return [
        Line(f"refactor aborted; set aside as {aborted.aside}: {', '.join(aborted.paths)}"),
        Line(f"next: {aborted.next}"),
    ]
