"""`tdd log`, `tdd log verify`, `tdd log repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from verdigris.cli.opening import PERSON, start
from verdigris.cli.output import SCHEMA, json_option, show, show_json
from verdigris.core.errors import LogDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.record import Record
    from verdigris.core.state import State
    from verdigris.storage.log import Log
    from verdigris.storage.repository import Repository

SHOWN = 20


@click.group("log", invoke_without_command=True)
@json_option
@click.option(
    "-n", "number", type=click.IntRange(min=1), help=f"The last N events (default: {SHOWN}; JSON: all)."
)
@click.pass_context
def command(ctx: click.Context, number: int | None, *, as_json: bool) -> int:
    """Show the log of this repository, oldest first."""
    if ctx.invoked_subcommand is not None:
        return 0
    from verdigris.cli import events as view

    _, log = _opened()
    if as_json:
        _show_events(_last(log, number))
    else:
        show(view.lines(_last(log, number or SHOWN)))
    return 0


def _opened() -> tuple[Repository, Log[State]]:
    """Without the configuration, which a damaged log could not give."""
    from verdigris.storage.project import open_log
    from verdigris.storage.repository import find_repository

    repo = find_repository(start())
    return repo, open_log(repo)


def _last(log: Log[State], number: int | None) -> Iterator[Record]:
    if number is None:
        return log.records()
    return reversed(list(log.records(reverse=True, limit=number)))


def _show_events(records: Iterator[Record]) -> None:
    """One document, written event by event: a log may be larger than memory."""
    import json

    from verdigris.cli import events as view

    click.echo(f'{{"schema": {SCHEMA}, "events": [', nl=False)
    for number, record in enumerate(records):
        click.echo((",\n" if number else "\n") + json.dumps(view.data(record)), nl=False)
    click.echo("\n]}")


@command.command("verify")
@json_option
def verify(*, as_json: bool) -> int:
    """Check every event against the chain. Exit code: 0 whole, 4 damaged."""
    from verdigris.cli import events as view

    _, log = _opened()
    found = log.verify()
    if as_json:
        show_json(view.verification_document(found))
    else:
        show(view.verification_lines(found))
    return 0 if found.whole else LogDamaged.exit_code


@command.command("repair")
@click.option("--why", required=True, help="What happened to the log; recorded in it.")
def repair(why: str) -> int:
    """Keep the longest whole part of a damaged log, and the damaged file beside it."""
    from verdigris.cli import events as view
    from verdigris.core.record import Stamp
    from verdigris.storage.repository import head

    repo, log = _opened()
    actor = {"role": PERSON.role, "context": PERSON.context, "client": PERSON.client}
    show(view.repair_lines(log.repair(why, Stamp(repo.worktree, head(repo).branch, actor))))
    return 0
