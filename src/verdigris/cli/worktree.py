"""`tdd status` and `tdd sync`: show how the worktree stands, and move it with git outside any turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    BACK_AT_CLAIM,
    OWED,
    json_option,
    next_here,
    pick,
    project,
    say,
    show,
    show_json,
    show_result,
)
from verdigris.core.actions import Deny
from verdigris.core.debts import list_debts
from verdigris.core.state import Claim, Phase, Refactor, WorktreeState
from verdigris.views.lines import Dot, Line, count_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.machine.history import MachineSurvey
    from verdigris.storage.project import Project
    from verdigris.turns.git import Moved
    from verdigris.turns.survey import Survey


@click.command("status")
@json_option
def status_command(*, as_json: bool) -> int:
    """Show the phase, a line per open red and claim, what waits, and the next move."""
    from verdigris.turns.survey import survey

    here = project()
    surveyed = survey(here)
    machine = _machine(here)
    if as_json:
        from verdigris.views.status import machine_document

        show_json({**survey_document(surveyed), "machine": machine_document(machine)})
    else:
        at_work = machine is not None and machine.running
        show(line for line in survey_lines(surveyed) if not (at_work and line.text.startswith("next:")))
        if machine is not None:
            from verdigris.views.status import machine_lines

            show(machine_lines(machine))
    return 0


def _machine(here: Project) -> MachineSurvey | None:
    """Loads the machine's modules only if it was at work here."""
    if not any(known.machine.runs for known in here.log.state().worktrees.values()):
        return None
    from verdigris.drivers.machine.history import survey_machine

    return survey_machine(here)


def survey_lines(survey: Survey) -> Iterator[Line]:
    state = survey.state
    yield Line(
        f"phase {state.phase}{_detail(state)}  (worktree {survey.worktree}, {survey.branch or 'detached'})"
    )
    if state.refactor is not None and state.refactor.refused is not None:
        yield Line(f"{state.refactor.refused}", "red")
    for claim in state.claims.values():
        yield _claim(state, claim)
    for red in state.reds.values():
        if red.test_id not in state.claims:
            worth = "" if red.valid else f" (not claimable: {red.why})"
            what = "known failure" if red.known else "red"
            failure = f"  {red.failure}" if red.failure else ""
            yield Line(f"{what} {red.test_id}{worth}{failure}", "red")
    if pins := state.characterized:
        yield Line(f"{count_of(len(pins), 'characterization test')}: they passed at once on source as it was")
    for laid in state.aside.values():
        # In red a claim comes first, since a restore would be an edit before a red.
        first = "claim a red, then " if state.phase is Phase.RED else ""
        back = BACK_AT_CLAIM if laid.back_at_claim else f"{first}`tdd restore {laid.id}`"
        yield Line(f"set aside {laid.id}: {', '.join(laid.paths)} ({laid.why}); {back}")
    for bug in state.test_bugs.values():
        yield Line(f"test-bug {bug.id} at {', '.join(bug.places)}: {bug.why}")
    yield from _amiss(survey)
    for note in survey.notes:
        yield Line(f"note: {note}")
    yield Line(f"next: {survey.next}")


def _amiss(survey: Survey) -> Iterator[Line]:
    """What is owed, and what was changed or stands against the law."""
    state = survey.state
    for text in list_debts(state.owed.values()):
        yield Line(f"owed: {text}", "yellow")
    for path in state.violations:
        yield Line(f"violation: {path}", "red")
    for path in survey.drift:
        yield Line(f"drift: {path} changed since it was frozen", "red")
    for edit in survey.unclaimed:
        yield Line(f"unclaimed: {edit.path}:{edit.line} {edit.why}", "red")


def _detail(state: WorktreeState) -> str:
    match state.phase:
        case Phase.OFF:
            return f": {state.off_why}"
        case Phase.GREEN if state.turn is not None and state.turn.suspended:
            return f", suspended: {state.turn.why or 'HEAD moved under the open turn'}"
        case Phase.REFACTOR if state.refactor is not None and state.refactor.uncovered:
            return ", uncovered lines allowed"
        case _:
            return ""


def _passes(state: WorktreeState, claim: Claim) -> bool:
    """The state remembers the tests whose last run did not pass."""
    return claim.test_id not in state.reds


def _claim(state: WorktreeState, claim: Claim) -> Line:
    green = _passes(state, claim)
    strikes = state.strikes.get(claim.test_id, 0)
    struck = f", {count_of(strikes, 'strike')}" if strikes else ""
    implied = ", implied" if claim.implied else ""
    dot: Dot = "green" if green else "red"
    return Line(f"{dot} {claim.test_id} → {', '.join(claim.targets)} (claimed{implied}{struck})", dot)


def survey_document(survey: Survey) -> dict[str, Any]:
    state = survey.state
    return {
        "phase": state.phase.value,
        "reds": [
            {
                "id": red.test_id,
                "red": red.why,
                **pick(red, "native_id", "status", "known", "failure", "place"),
            }
            for red in state.reds.values()
        ],
        "claims": [
            {
                "id": claim.test_id,
                **pick(claim, "targets", "implied"),
                "passing": _passes(state, claim),
                "strikes": state.strikes.get(claim.test_id, 0),
            }
            for claim in state.claims.values()
        ],
        "violations": list(state.violations),
        "next": survey.next,
        "aside": [pick(laid, "id", "paths", "why", "back_at_claim") for laid in state.aside.values()],
        "test_bugs": [pick(bug, "id", "places", "why") for bug in state.test_bugs.values()],
        "unclaimed": [pick(edit, "path", "line", "why") for edit in survey.unclaimed],
        "suspended": state.turn is not None and state.turn.suspended,
        **pick(survey, "drift", "worktree", "branch", "notes"),
        "characterized": list(state.characterized),
        "owed": [pick(debt, *OWED) for debt in state.owed.values()],
        "refactor": _refactor_data(state.refactor),
    }


def _refactor_data(refactor: Refactor | None) -> dict[str, Any] | None:
    if refactor is None:
        return None
    refused = refactor.refused
    verdict = {"verdict": refused.verdict, "reasons": list(refused.reasons)} if refused else {"verdict": None}
    return {**verdict, "uncovered": refactor.uncovered}


@click.command("sync", context_settings={"ignore_unknown_options": True})
@click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="-- GIT...", required=True)
def sync_command(argv: tuple[str, ...]) -> int:
    """Run switch, pull, merge, rebase, stash or revert with no turn open; what it brings joins the baseline.

    Exit code: 0 git did it, 1 git did not, 3 denied.
    """
    from verdigris.gates.agent_shell import agent_git
    from verdigris.turns.git import sync

    opened = project()
    answer = sync(opened, argv, agents_git=agent_git)
    shown = show_result(answer, lambda moved: [*moved_lines(moved), Line(f"next: {next_here(opened)}")])
    if isinstance(answer, Deny) or answer.exit_code == 0:
        return shown
    say(f"tdd: git ended with exit code {answer.exit_code}")
    return 1


MOST = 10


def moved_lines(moved: Moved) -> list[Line]:
    more = f" and {len(moved.brought) - MOST} more" if len(moved.brought) > MOST else ""
    brought = f"accepted as the new baseline: {', '.join(moved.brought[:MOST])}{more}"
    found = [Line(brought)] if moved.brought else []
    return [*found, Line(f"a {moved.in_progress} is in progress")] if moved.in_progress else found
