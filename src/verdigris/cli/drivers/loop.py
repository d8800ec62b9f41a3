"""`tdd loop`: makes, checks, runs, pauses and shows programs that pin one behaviour per iteration."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdigris.cli.context import (
    here,
    json_option,
    persons_command,
    pick,
    project,
    show,
    show_json,
    show_result,
)
from verdigris.cli.drivers.machine import (
    handling_signals,
    interrupt,
    open_watcher,
    record_option,
    reporting_ends,
)
from verdigris.cli.group import OfferingGroup
from verdigris.views.lines import Line, count_of

if TYPE_CHECKING:
    from verdigris.drivers.loop.discovery import FoundProgram, ProgramFault
    from verdigris.drivers.loop.survey import WaitingProgram

NOTHING_DUE = 1
_ENDING = {signal.SIGTERM: interrupt}
"""As after Ctrl-C the open step is set back, and the next run repeats it."""


@click.group("loop", cls=OfferingGroup)
def command() -> None:
    """Programs that pin one behaviour per iteration, and stop with a reason where they are stuck.

    \b
    tdd loop new NAME        write a program to fill in
    tdd loop lint NAME       what keeps it from running
    tdd loop run NAME        run it: a branch, a state file, a commit for each behaviour
    tdd loop daemon          run whatever is due, and rest in between
    tdd loop status          how each program stands
    tdd loop pause NAME      before its next step; `resume` lets it go on
    tdd loop stop            end the run after its current step
    """  # noqa: D301 - click's mark for lines that stay as they are


@command.command("new")
@click.argument("name", metavar="NAME")
@click.option(
    "--strategy",
    type=click.Choice(["test-driven", "ratchet"]),
    default="test-driven",
    show_default=True,
    help="test-driven pins behaviours by tests; ratchet improves one number.",
)
@persons_command("loop new")
def new(name: str, strategy: str) -> int:
    """Write a program to fill in, below .autoloop/programs/NAME (a person's command)."""
    from verdigris.drivers.loop.discovery import new_program

    written = new_program(_root(), name, strategy)
    show([Line(f"wrote {path}") for path in written])
    show([Line(f"next: fill in each <CUSTOMIZE: …>, then `tdd loop lint {name}`")])
    return 0


@command.command("lint")
@click.argument("name", metavar="[NAME]", default="")
@json_option
def lint(name: str, *, as_json: bool) -> int:
    """Say what keeps programs from running. Exit code: 1 where something does."""
    from verdigris.drivers.loop.discovery import find_programs, lint_program

    root = _root()
    found = [(one, lint_program(one, root)) for one in find_programs(root, name)]
    show_result(
        found,
        lambda found: [line for one, faults in found for line in _lint_lines(one, faults)],
        lambda found: {"programs": [_lint_document(one, faults) for one, faults in found]},
        as_json=as_json,
    )
    return 1 if any(faults for _, faults in found) else 0


@command.command("due")
@click.argument("name", metavar="[NAME]", default="")
@json_option
def due(name: str, *, as_json: bool) -> int:
    """Say which program is due, and why the others are not. Exit code: 0 one is, 1 none is."""
    from verdigris.drivers.loop.survey import choose_due, due_document

    root = _root()
    found = choose_due(_candidates(root, name), datetime.now(UTC), forced=name)
    if as_json:
        show_json(due_document(found))
    else:
        chosen = found.selected.found if found.selected else None
        show([Line(f"due: {chosen.name} ({chosen.path})", "green") if chosen else Line("nothing is due")])
        show([Line(f"  later: {other}") for other in found.deferred])
        more = [
            f"{one.name}: {one.reason}" + (f" until {one.next_due}" if one.next_due else "")
            for one in found.skipped
        ]
        show([Line(f"  {text}") for text in more])
    return 0 if found.selected else NOTHING_DUE


@command.command("run")
@click.argument("name", metavar="[NAME]", default="")
@click.option("--iterations", "-n", type=click.IntRange(min=1), help="The most iterations of this run.")
@record_option
@json_option
@persons_command("loop run")
def run(name: str, iterations: int | None, record: Path | None, *, as_json: bool) -> int:
    """Run the program NAME, or the one that is due: each commit pins one behaviour that was red.

    A run that was interrupted goes on where it was. Exit code: 0 completed or a limit is reached, 1 nothing
    is due, 5 stuck, 6 blocked, 7 paused by a person, 69 the model or the remote cannot be reached, 130
    interrupted.
    """
    from dataclasses import replace

    from verdigris.drivers.happenings import RunEnded
    from verdigris.drivers.loop.history import EXIT_CODES, LoopOutcome
    from verdigris.drivers.loop.open_program import open_program
    from verdigris.drivers.loop.run import LoopRun

    root = _root()
    chosen = name or _choose(root)
    if not chosen:
        with open_watcher(as_json=as_json) as watch:
            watch(RunEnded(str(LoopOutcome.NOTHING_DUE), following="`tdd loop due` says why"))
        return EXIT_CODES[LoopOutcome.NOTHING_DUE]
    with reporting_ends(f"`tdd loop run {chosen}` goes on where it was", as_json=as_json) as failed:
        with (
            handling_signals(_ENDING),
            open_watcher(as_json=as_json) as watch,
            open_program(root, chosen, watch, record=record) as opened,
        ):
            limits = opened.found.program.limits
            if iterations is not None:
                limits = replace(limits, rounds=iterations)
            ended = LoopRun(opened, limits).make()
        return EXIT_CODES[LoopOutcome(ended.outcome)]
    return failed[0]


def _choose(root: Path) -> str:
    from verdigris.drivers.loop.survey import choose_due

    found = choose_due(_candidates(root, ""), datetime.now(UTC))
    return found.selected.found.name if found.selected else ""


@command.command("daemon")
@click.option(
    "--interval",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="MIN",
    help="The longest time between two looks at the programs, in minutes.",
)
@click.option("--wait", is_flag=True, help="Wait for another daemon to end.")
@json_option
@persons_command("loop daemon")
def daemon(interval: float, *, wait: bool, as_json: bool) -> int:
    """Run the programs that are due, oldest first, one at a time, and rest in between (a person's command).

    An iteration each time, or as many as the program's limits say. Exit code: 0 `tdd loop stop` ended it, 2
    another daemon is at work, 130 interrupted or terminated.
    """
    from verdigris.drivers.loop.daemon import open_daemon

    with reporting_ends("`tdd loop daemon` goes on where it was", as_json=as_json) as failed:
        with (
            handling_signals(_ENDING),
            open_watcher(as_json=as_json) as watch,
            open_daemon(_root(), watch, interval, wait=wait) as opened,
        ):
            opened.make()
        return 0
    return failed[0]


@command.command("status")
@click.argument("name", metavar="[NAME]", default="")
@json_option
def status(name: str, *, as_json: bool) -> int:
    """Show each program: due, running or paused, its harness, metric and last iterations."""
    from verdigris.drivers.loop.open_program import DAEMON, find_occupant
    from verdigris.drivers.loop.survey import survey_programs
    from verdigris.views.status import status_document, status_lines

    home = project()
    found, daemon = survey_programs(home, name), find_occupant(home.repo, DAEMON)
    if as_json:
        show_json({**status_document(found), "daemon": daemon.pid if daemon else None})
        return 0
    show(status_lines(found))
    if daemon is not None:
        show([Line(f"a daemon is running (process {daemon.pid}); `tdd loop stop` ends it")])
    return 0


_why = click.option("--why", default="", metavar="WHY", help="The reason, for the log and the state file.")


@command.command("pause")
@click.argument("name", metavar="NAME")
@_why
@persons_command("loop pause")
def pause(name: str, why: str) -> int:
    """Pause a program (a person's command); an open run of it ends before its next step.

    Exit code: 0 it is paused now, 1 it was already, or it is completed.
    """
    from verdigris.drivers.loop.survey import pause_program

    told = pause_program(project(), name, why)
    show([*map(Line, told.lines), Line(f"next: `tdd loop resume {name}` when it may go on")])
    return 0 if told.changed else 1


@command.command("resume")
@click.argument("name", metavar="NAME")
@_why
@persons_command("loop resume")
def resume(name: str, why: str) -> int:
    """Let a program go on after a pause, a plateau or its completion (a person's command).

    Exit code: 0 it may go on, 1 nothing held it.
    """
    from verdigris.drivers.loop.survey import resume_program

    told = resume_program(project(), name, why)
    show([*map(Line, told.lines), Line(f"next: `tdd loop run {name}`")])
    return 0 if told.changed else 1


@command.command("stop")
@click.argument("name", metavar="[NAME]", default="")
@persons_command("loop stop")
def stop(name: str) -> int:
    """End the open run after its current step; without NAME, a daemon too (a person's command).

    The next `tdd loop run` goes on where it was. Exit code: 0 it was asked to stop, 1 nothing is running.
    """
    from verdigris.drivers.loop.survey import stop_runs

    asked = stop_runs(project().repo, name)
    for one in asked:
        what = f"the run of {one.program}" if one.program else "the daemon"
        now = f"`kill {one.pid}` ends it at once"
        show([Line(f"asked {what} to stop after its current step (process {one.pid}; {now})")])
    if not asked:
        show([Line("nothing is running; `tdd loop status` shows each program")])
    return 0 if asked else 1


@command.command("workflow")
@click.argument("service", type=click.Choice(["github"]))
@click.argument("name", metavar="[NAME]", default="")
@click.option("--force", is_flag=True, help="Overwrite a file that somebody changed.")
@persons_command("loop workflow")
def workflow(service: str, name: str, *, force: bool) -> int:  # noqa: ARG001 - the one there is
    """Write the workflow that runs a program, or each of them, on GitHub Actions (a person's command)."""
    from verdigris.drivers.loop.ci.workflow import TOKEN, find_needs, render_workflow, write_workflow
    from verdigris.drivers.loop.discovery import find_programs

    root = _root()
    needs = find_needs(root)
    for one in find_programs(root, name):
        text = render_workflow(one.name, one.program.schedule, needs)
        show([Line(f"wrote {write_workflow(root, one.name, text, force=force)}")])
    secrets = ", ".join((*needs.keys, TOKEN))
    show([Line(f"next: the secrets {secrets} in the repository's settings, then commit")])
    return 0


def _root() -> Path:
    from verdigris.storage.repository import find_repository

    return find_repository(here()).root


def _candidates(root: Path, name: str) -> tuple[WaitingProgram, ...]:
    from verdigris.drivers.loop.settings import load_loop
    from verdigris.drivers.loop.survey import gather_candidates

    return gather_candidates(root, name, load_loop(root).memory)


def _lint_lines(one: FoundProgram, faults: tuple[ProgramFault, ...]) -> list[Line]:
    kind = "test-driven" if one.is_test_driven else "ratchet"
    notes = [Line(f"  {one.path}:{note.line}: {note.what}") for note in one.program.notes]
    if not faults:
        return [Line(f"{one.name} ({kind}) is ready", "green"), *notes]
    head = Line(f"{one.name} ({kind}) does not run: {count_of(len(faults), 'finding')}", "red")
    return [head, *notes, *(Line(f"  {fault}; {fault.fix}") for fault in faults)]


def _lint_document(one: FoundProgram, faults: tuple[ProgramFault, ...]) -> dict[str, object]:
    return {
        **pick(one, "name", "path"),
        "ready": not faults,
        "findings": [pick(fault, "path", "line", "what", "fix") for fault in faults],
        "notes": [note.what for note in one.program.notes],
    }
