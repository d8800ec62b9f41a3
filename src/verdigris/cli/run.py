"""`tdd run`: runs the machine for some steps."""

from __future__ import annotations

from pathlib import Path

import click

from verdigris.cli.machine import play_steps


@click.command("run")
@click.option(
    "--steps", "-n", type=click.IntRange(min=1), help="How many steps; `machine.steps` when not given."
)
@click.option("--record", type=click.Path(path_type=Path), help="Append each exchange with a model to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per event.")
def command(steps: int | None, record: Path | None, *, as_json: bool) -> int:
    """Turn the kata into code: tester, implementor and refactorer in turn, one proven commit per step.

    A run that was interrupted goes on where it was. Exit code: 0 the steps are made or the kata is done, 1 a
    step is blocked or a role says what is wrong, 69 no model answers, 130 interrupted.
    """
    return play_steps(steps, record, as_json=as_json)
