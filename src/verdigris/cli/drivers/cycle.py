"""`tdd cycle`: from a spec to evidence; each verb is refused unless the stage before it is done."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    PERSON,
    deny,
    here,
    json_option,
    live,
    next_here,
    persons_command,
    persons_only,
    pick,
    project,
    show,
    show_json,
    show_result,
)
from verdigris.cli.context import paths as complete_paths
from verdigris.cli.group import OfferingGroup
from verdigris.core.actions import Deny
from verdigris.core.policy.cycle import next_step
from verdigris.core.records import Actor
from verdigris.core.state import BLOCKER, CONCERNS, PASS, Cycle
from verdigris.core.value import replace
from verdigris.views.lines import Dot, Line

if TYPE_CHECKING:
    from verdigris.drivers.cycle.frame import CycleStep
    from verdigris.storage.project import Project

_SEEDS_STAGES = {"plan": "tdd-plan", "red": "tdd-red", "validate": "tdd-red", "green": "tdd-green"}
"""The names that other orchestrators use."""
as_option = click.option(
    "--as", "name", metavar="NAME", help="The name of the person who acts, if several take part."
)
why_option = click.option("--why", required=True, metavar="WHY", help="Recorded in the log.")


@click.group("cycle", cls=OfferingGroup)
def command() -> None:
    """From a spec to evidence: plan, failing tests, validation, frozen tests, code. `tdd help cycle`

    \b
    tdd cycle start specs/login.md     stage plan: write the plan it names
    tdd cycle advance                  ends a stage, if its gate holds
    tdd cycle validate                 checks the tests; PASS, CONCERNS or BLOCKER
    tdd cycle freeze                   pins spec and tests, opens the coder's turn
    tdd settle; tdd cycle advance      code is judged; evidence is written
    tdd cycle run specs/login.md       the same, played by the models of tdd.yaml
    """  # noqa: D301 - click's mark for lines that stay as they are


@command.command("run")
@click.argument("spec", metavar="SPEC", shell_complete=complete_paths)
@click.option("--record", type=click.Path(path_type=Path), help="Append each exchange with a model to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per event.")
@persons_command("cycle run")
def run_cycle(spec: str, record: Path | None, *, as_json: bool) -> int:
    """Let the models of tdd.yaml play planner, test author, validator and coder, to the evidence.

    A run that was interrupted goes on where it was. Exit code: 0 done, 1 it stopped or waits for a person, 3
    it may not start, 69 no model answers, 130 interrupted.
    """
    from verdigris.cli.drivers.machine import SUCCEEDED, open_watcher, reporting_ends
    from verdigris.drivers.cycle.run import CycleRun
    from verdigris.drivers.cycle.stage_play import open_run

    with reporting_ends("`tdd cycle run` goes on with the open stage", as_json=as_json) as failed:
        with open_watcher(as_json=as_json) as watch, open_run(project(), watch, record=record) as opened:
            ended = CycleRun(opened).make(spec, cwd=here())
        if isinstance(ended, Deny):
            return deny(ended, as_json=as_json)
        return 0 if ended.outcome in SUCCEEDED else 1
    return failed[0]


@command.command("start")
@click.argument("spec", metavar="SPEC", shell_complete=complete_paths)
@as_option
@json_option
def start_cycle(spec: str, name: str | None, *, as_json: bool) -> int:
    """Start a cycle on an active spec: its scenarios become tests, then code."""
    from verdigris.drivers.cycle.stages import start

    with live() as progress:
        done = start(_project(name), spec, cwd=here(), progress=progress)
    return _answer(done, as_json=as_json)


@command.command("advance")
@as_option
@json_option
def advance_cycle(name: str | None, *, as_json: bool) -> int:
    """End the open stage, if the kernel sees that it is done, and open the next."""
    from verdigris.drivers.cycle.stages import advance

    with live() as progress:
        done = advance(_project(name), progress)
    return _answer(done, as_json=as_json)


@command.command("validate")
@click.option("--verdict", type=click.Choice([PASS, CONCERNS, BLOCKER]), help="Your own judgement, on top.")
@click.option(
    "--finding", "findings", multiple=True, metavar="'FILE:LINE — WHAT'", help="What you found; repeatable."
)
@as_option
@json_option
def validate_cycle(verdict: str | None, findings: tuple[str, ...], name: str | None, *, as_json: bool) -> int:
    """Check the tests: coverage, reds, vacuity, strength, mocks. Exit code: 0 PASS, 1 not.

    A judgement makes the verdict worse, never better; the tests' author cannot give one. Tests below
    .tdd/holdout/ are held out: only verdicts run them.
    """
    from verdigris.drivers.cycle.validation.judgement import GivenVerdict, validate

    if findings and verdict in {None, PASS}:
        raise click.UsageError("a finding needs a verdict: --verdict CONCERNS or --verdict BLOCKER")
    judged = None if verdict is None else GivenVerdict(verdict, findings)
    with live() as progress:
        done = validate(_project(name), judged, progress=progress)
    code = _answer(done, as_json=as_json)
    passed = not isinstance(done, Deny) and done.cycle is not None and done.cycle.verdict == PASS
    return code or (0 if passed else 1)


@command.command("freeze")
@as_option
@json_option
def freeze_cycle(name: str | None, *, as_json: bool) -> int:
    """Pin spec, tests and commit after a PASS, and open the coder's turn on them."""
    from verdigris.drivers.cycle.stages import freeze

    return _answer(freeze(_project(name)), as_json=as_json)


@command.command("resume")
@click.option(
    "--why", default="", metavar="WHY", help="The reason to go on, if the cycle waits for a person."
)
@as_option
@json_option
def resume_cycle(why: str, name: str | None, *, as_json: bool) -> int:
    """Go on after a stop, a kill, or edits that were set aside."""
    from verdigris.drivers.cycle.stages import resume

    opened = _project(name)
    cycle = opened.state().open_cycle
    if cycle is not None and cycle.stopped:
        if denial := persons_only("cycle resume"):
            return deny(denial, as_json=as_json)
        if not why:
            raise click.UsageError(
                f"the cycle waits for a person: {cycle.stopped}; give the reason to go on: --why WHY"
            )
    with live() as progress:
        done = resume(opened, why, progress)
    return _answer(done, as_json=as_json)


@command.command("abort")
@why_option
@as_option
@json_option
@persons_command("cycle abort")
def abort_cycle(why: str, name: str | None, *, as_json: bool) -> int:
    """Give the cycle up; the coder's edits are set aside, the tests stay (a person's command)."""
    from verdigris.drivers.cycle.stages import abort

    return _answer(abort(_project(name), why), as_json=as_json)


@command.command("test-bug", options_metavar="[--as NAME]")
@click.argument("words", nargs=-1, metavar="FILE:LINE... WHY | uphold WHY | dismiss WHY")
@as_option
def report_test_bug(words: tuple[str, ...], name: str | None) -> int:
    """Report a wrong frozen test, which stops the coder; or rule on such a report.

    Upheld: the tests are open again. Dismissed: the coder goes on.
    """
    from verdigris.cli.when_stuck import reported_lines
    from verdigris.drivers.cycle.stages import rule_on_bug
    from verdigris.turns.test_bug import report_bug

    *places, why = words or ("",)
    if not places:
        raise click.UsageError('it needs a place and a reason: tdd cycle test-bug tests/test_x.py:12 "why"')
    opened = _project(name)
    if places[0] in {"uphold", "dismiss"}:
        return _answer(rule_on_bug(opened, " ".join((*places[1:], why)), uphold=places[0] == "uphold"))
    answer = report_bug(opened, places, why, cwd=here())
    return show_result(answer, lambda reported: reported_lines(reported, next_here(opened)))


@command.command("status")
@json_option
def show_status(*, as_json: bool) -> int:
    """Show the open stage, who worked in which stage, and the next move."""
    opened = project()
    state = opened.state()
    cycle = state.cycle
    following = next_step(cycle, turn=state.turn is not None) if cycle else "`tdd cycle start SPEC`"
    if as_json:
        show_json({**_seeds_state(cycle), "cycle": _document(cycle), "next": following})
    elif cycle is None:
        show([Line("no cycle is open here"), Line(f"next: {following}")])
    else:
        show([*_status_lines(cycle), Line(f"next: {following}")])
    return 0


@command.command("stack")
@json_option
def show_stack(*, as_json: bool) -> int:
    """Print the stacks of tdd.yaml as orchestrators read them, and write .tdd/cycle/stack.json."""
    import json

    from verdigris.cli.context import say
    from verdigris.drivers.cycle.settings import stack_document, write_stack

    opened = project()
    if said := write_stack(opened):
        say(said)
    return show_result(
        stack_document(opened),
        lambda document: map(Line, json.dumps(document, indent=2).splitlines()),
        lambda document: document,
        as_json=as_json,
    )


@command.command("verify")
@click.argument("evidence", metavar="EVID")
@click.option("--by-git", is_flag=True, help="Compare with git alone: a clone has no log.")
@json_option
def verify_evidence(evidence: str, *, by_git: bool, as_json: bool) -> int:
    """Check evidence against the log and git. Exit code: 0 it holds, 1 it does not."""
    from verdigris.drivers.cycle.completion import verify

    faults = verify(project(), evidence, by_git=by_git)
    if as_json:
        show_json({"evidence": evidence, "holds": not faults, "faults": list(faults)})
    elif faults:
        show([Line(f"{evidence} does not hold", "red"), *(Line(f"  {fault}") for fault in faults)])
    else:
        said = "git says the same; the log was not asked" if by_git else "log and git say the same"
        show([Line(f"{evidence} holds: {said}", "green")])
    return 1 if faults else 0


def _project(name: str | None) -> Project:
    """Lets a person give a name; an agent is known by its context."""
    opened = project()
    if not name or opened.actor != PERSON:
        return opened
    return replace(opened, actor=Actor(PERSON.role, name, PERSON.client))


def _answer(done: CycleStep | Deny, *, as_json: bool = False) -> int:
    if isinstance(done, Deny):
        return deny(done, as_json=as_json)
    document = {"said": list(done.said), "cycle": _document(done.cycle), "next": done.next}
    first, *more = done.said
    lines = [Line(first, _dot(done.cycle)), *map(Line, more), Line(f"next: {done.next}")]
    return show_result(
        done, lambda _: lines, lambda done: _seeds_state(done.cycle) | document, as_json=as_json
    )


def _dot(cycle: Cycle | None) -> Dot:
    if cycle is None or cycle.stopped:
        return "yellow"
    return "green" if cycle.stage in {"green", "done"} else "red"


def _seeds_state(cycle: Cycle | None) -> dict[str, Any]:
    """Returns the state in the form that other orchestrators read."""
    if cycle is None:
        return {"phase": None}
    return {
        "phase": _SEEDS_STAGES.get(cycle.stage, "done"),
        "spec_id": cycle.spec_id,
        "spec_path": cycle.spec_path,
        "spec_hash": cycle.frozen_hash,
        "plan_artifact": cycle.plan if cycle.plan_hash else "",
        "started_at": _iso(cycle.started),
        "phase_entered_at": _iso(cycle.entered),
    }


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def _document(cycle: Cycle | None) -> dict[str, Any] | None:
    if cycle is None:
        return None
    from verdigris.drivers.cycle.frame import identity_of

    return {
        **pick(
            cycle, "id", "stage", "verdict", "rounds", "findings", "tests", "stopped", "commits", "evidence"
        ),
        "branch": cycle.on,
        "accepted": list(cycle.green),
        "test_bugs": cycle.bugs,
        "workers": {stage: [identity_of(who) for who in actors] for stage, actors in cycle.workers.items()},
    }


def _status_lines(cycle: Cycle) -> list[Line]:
    from verdigris.drivers.cycle.frame import identity_of

    lines = [
        Line(f"cycle {cycle.id} on {cycle.spec_id}, branch {cycle.on}: stage {cycle.stage}", _dot(cycle))
    ]
    lines += [Line(f"stopped: {cycle.stopped}")] if cycle.stopped else []
    for stage, actors in cycle.workers.items():
        lines.append(Line(f"  {stage}: {', '.join(map(identity_of, actors))}"))
    if cycle.verdict:
        lines.append(Line(f"  validation: {cycle.verdict}"))
    lines += [Line(f"  finding: {finding}") for finding in cycle.findings if cycle.stage == "red"]
    if cycle.tests:
        lines.append(Line(f"  frozen tests: {len(cycle.tests)}, accepted: {len(cycle.green)}"))
    return lines
