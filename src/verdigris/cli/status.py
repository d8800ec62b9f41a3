"""`tdd status`: how the worktree stands, and the next move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.opening import project
from verdigris.cli.output import json_option, show, show_json

if TYPE_CHECKING:
    from verdigris.drivers.machine.survey import MachineSurvey
    from verdigris.storage.project import Project


@click.command("status")
@json_option
def command(*, as_json: bool) -> int:
    """Show the phase, a line per open red and claim, what waits, and the next move."""
    from verdigris.cli import statusx as view
    from verdigris.turns.survey import survey

    here = project()
    surveyed = survey(here)
    machine = _machine(here)
    if as_json:
        from verdigris.views.machinestatus import document

        show_json({**view.document(surveyed), "machine": document(machine)})
    else:
        at_work = machine is not None and machine.running
        show(line for line in view.lines(surveyed) if not (at_work and line.text.startswith("next:")))
        if machine is not None:
            from verdigris.views.machinestatus import lines

            show(lines(machine))
    return 0


def _machine(here: Project) -> MachineSurvey | None:
    """What the machine's modules cost is spent only where it was at work."""
    if not any(known.machine.runs for known in here.log.state().worktrees.values()):
        return None
    from verdigris.drivers.machine.survey import survey_machine

    return survey_machine(here)
