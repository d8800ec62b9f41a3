"""`tdd fleet`: carries out audits, machine runs and replays on many processors or machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import json_option, say, shard_option, show_result
from verdigris.cli.group import OfferingGroup
from verdigris.core.errors import UserError
from verdigris.views.lines import Line, count_of, make_visible

if TYPE_CHECKING:
    from verdigris.drivers.fleet.result_folder import FleetSummary
    from verdigris.drivers.fleet.unit import FleetUnit


_SHORT = 12


class FleetProgress:
    """One line a unit on standard error."""

    def __init__(self) -> None:
        self._total = self._done = 0

    def began(self, total: int, known: int) -> None:
        self._total, self._done = total, known
        again = f", {known} of them answered already" if known else ""
        say(f"{count_of(total, 'unit')} to carry out{again}")

    def on_end(self, unit: FleetUnit, answer: str) -> None:
        self._done += 1
        say(f"[{self._done}/{self._total}] {_name(unit)}: {answer}")

    def on_loss(self, unit: FleetUnit, why: str, *, again: bool) -> None:
        what = "it is tried again" if again else "it is given up for now"
        say(f"{_name(unit)}: no answer ({make_visible(why)}); {what}")


def _name(unit: FleetUnit) -> str:
    """Names a unit as its line does, with the key under which its result is found."""
    asked = unit.asked.get("commit") or unit.asked.get("id") or ""
    words = (unit.kind, str(unit.asked.get("repo", "")), str(asked)[:_SHORT], f"({unit.key[:_SHORT]})")
    return make_visible(" ".join(filter(None, words)))


@click.group("fleet", cls=OfferingGroup)
def command() -> None:
    """Many audits, machine runs and replays at once, on this machine or a Ray cluster. `tdd help fleet`"""


@command.command("run")
@click.argument("tasks", metavar="TASKS", type=click.Path(path_type=Path))
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", help="Where the units run.")
@click.option(
    "--address", default="", help="Address of the Ray cluster; without it, Ray is started on this machine."
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="How many units run at once; by default one for each processor.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The folder for the results.")
@click.option("--attempts", type=click.IntRange(min=1), default=3, help="How often a lost unit is tried.")
@click.option(
    "--timeout", "seconds", type=click.FloatRange(min=1), default=3600.0, help="Seconds for one unit."
)
@shard_option
@json_option
def run(*, engine: str, address: str, jobs: int | None, as_json: bool, **said: Any) -> int:
    """Carry out each line of TASKS as a `tdd` command, and write its result into the folder --out.

    After a kill, the same command goes on: units with a result are not run again. Exit code: 0 every
    unit said yes, 1 some said no or could not be verified, 2 the tasks are wrong, 69 Ray is missing or cannot
    be reached, 70 units are left without an answer, 130 interrupted.
    """
    from verdigris.drivers.fleet.run import FleetRequest, open_engine, prepare_units, run_fleet

    if address and engine != "ray":
        raise UserError("`--address` is of a Ray cluster.", hint="`--engine ray --address …`")
    asked = FleetRequest(**said)
    units = prepare_units(asked)
    summary = run_fleet(asked, units, open_engine(engine, address, jobs or 0), FleetProgress())
    show_result(summary, _lines, lambda summary: {"summary": summary.document()}, as_json=as_json)
    return summary.exit_code


def _lines(summary: FleetSummary) -> Iterator[Line]:
    told = summary.document()
    for answer, count in told["verdicts"].items():
        yield Line(f"{count:>6}  {make_visible(answer)}", "green" if not summary.negative else None)
    if summary.unverified:
        yield Line(f"{summary.unverified:>6}  unverified: it could not be judged", "yellow")
    if summary.infrastructure:
        yield Line(f"{summary.infrastructure:>6}  without an answer: the same command tries again", "red")
    yield Line(f"{count_of(summary.units, 'unit')}, {summary.negative} said no")
