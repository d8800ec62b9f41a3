"""`tdd step`: runs one step of the machine."""

from __future__ import annotations

from pathlib import Path

import click

from verdigris.cli.machine import play_steps


@click.command("step")
@click.option("--record", type=click.Path(path_type=Path), help="Append each exchange with a model to FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document per event.")
def command(record: Path | None, *, as_json: bool) -> int:
    """Run the next step only; where a person plays it, judge the tree as it is.

    Exit code: as `tdd run`.
    """
    return play_steps(1, record, as_json=as_json)
