"""`tdd doctor` and `tdd log`: check what Verdigris needs, and show, verify or repair the log."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from verdigris.cli.context import (
    PERSON,
    SCHEMA,
    actor,
    deny,
    deny_agent,
    json_option,
    live,
    persons_only,
    pick,
    project,
    show,
    show_result,
    start,
)
from verdigris.cli.group import OfferingGroup
from verdigris.core import events as e
from verdigris.core.errors import LogDamaged, VerdigrisError
from verdigris.core.records import Record, flatten, to_json
from verdigris.views.lines import Dot, Line, count_of, make_visible, time_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from verdigris.core.state import State
    from verdigris.setup.doctor_checks import DoctorFinding, Level
    from verdigris.setup.repair import Repair
    from verdigris.storage.log.log import Log
    from verdigris.storage.log.verification import Verification
    from verdigris.storage.repository import Repository


@click.command("doctor")
@click.option("--room", is_flag=True, help="Also run the suite, unconfined and in the room, and compare.")
@click.option(
    "--accept-weaker",
    metavar="WHY",
    help="Accept that less can be confined now than before.",
)
@json_option
def doctor_command(*, room: bool, accept_weaker: str | None, as_json: bool) -> int:
    """Check git, interpreters, sandbox, log, configuration, gates and models, with a fix for each finding.

    Exit code: 0 nothing fails (warnings allowed), 1 something does.
    """
    from verdigris.drivers.code.session_start import check_plan
    from verdigris.gates.agent_shell import ways
    from verdigris.gates.clients.registry import clients
    from verdigris.models.role_models import check_players
    from verdigris.setup.doctor import examine
    from verdigris.setup.safeguards import holdings

    if accept_weaker is not None:
        if (denial := persons_only("doctor --accept-weaker")) is not None:
            return deny(denial, as_json=as_json)
        if not accept_weaker.strip():
            raise click.UsageError("it needs a reason: tdd doctor --accept-weaker WHY")
        ways.accept_weaker(project(), accept_weaker)
    with live() as progress:
        found = examine(start(), actor(), room=room, progress=progress)
    found += tuple(finding for client in clients() if (finding := client.check(start())) is not None)
    with suppress(VerdigrisError, OSError):  # another finding says what is wrong
        found += tuple(filter(None, (ways.check_strength(project()),)))
    found += (*check_players(start()), *check_plan(start()))
    table = {"holds": [to_json(row) for row in holdings()]}
    show_result(found, finding_lines, lambda found: finding_document(found) | table, as_json=as_json)
    return 1 if any(finding.level == "fail" for finding in found) else 0


_FINDING_DOTS: dict[Level, Dot] = {"ok": "green", "warn": "yellow", "fail": "red"}


def finding_lines(findings: Sequence[DoctorFinding]) -> list[Line]:
    lines: list[Line] = []
    for finding in findings:
        lines.append(Line(f"{finding.level:<4} {finding.name}: {finding.what}", _FINDING_DOTS[finding.level]))
        lines += [Line(f"         {make_visible(detail)}") for detail in finding.details]
        if finding.fix:
            lines.append(Line(f"         fix: {finding.fix}"))
    return lines


def finding_document(findings: Sequence[DoctorFinding]) -> dict[str, Any]:
    return {
        "ok": all(f.level != "fail" for f in findings),
        "findings": [pick(finding, "name", "level", "what", "fix", "details") for finding in findings],
    }


SHOWN = 20


@click.group("log", cls=OfferingGroup, invoke_without_command=True)
@json_option
@click.option(
    "-n", "number", type=click.IntRange(min=1), help=f"The last N events (default: {SHOWN}; JSON: all)."
)
@click.pass_context
def log_command(ctx: click.Context, number: int | None, *, as_json: bool) -> int:
    """Show the log of this repository, oldest first."""
    if ctx.invoked_subcommand is not None:
        return 0

    _, log = _open_log()
    if as_json:
        _show_events(_last_records(log, number))
    else:
        show(lines(_last_records(log, number or SHOWN)))
    return 0


def _open_log() -> tuple[Repository, Log[State]]:
    """Opens the log without the configuration, which a damaged log could not give."""
    from verdigris.storage.project import open_log
    from verdigris.storage.repository import find_repository

    repo = find_repository(start())
    return repo, open_log(repo)


def _last_records(log: Log[State], number: int | None) -> Iterator[Record]:
    if number is None:
        return log.records()
    return reversed(list(log.records(reverse=True, limit=number)))


def _show_events(records: Iterator[Record]) -> None:
    """One document, written event by event: a log may be larger than memory."""
    import json

    click.echo(f'{{"schema": {SCHEMA}, "events": [', nl=False)
    for number, record in enumerate(records):
        click.echo((",\n" if number else "\n") + json.dumps(flatten(record)), nl=False)
    click.echo("\n]}")


@log_command.command("verify")
@json_option
def verify(*, as_json: bool) -> int:
    """Check every event against the chain. Exit code: 0 whole, 4 damaged."""
    _, log = _open_log()
    found = log.verify()
    show_result(found, verification_lines, verification_document, as_json=as_json)
    return 0 if found.whole else LogDamaged.exit_code


@log_command.command("repair")
@click.option("--why", required=True, help="What happened to the log; recorded in it.")
def repair(why: str) -> int:
    """Keep what is whole of a damaged log and store, and what is damaged beside it.

    Of the log the longest part that nothing contradicts is kept. Lost objects of the store are taken from the
    worktree and from git where they have them. A phase whose snapshots are lost ends; it goes on in red, from
    what is committed.
    """
    from verdigris.setup.repair import repair

    if denial := deny_agent("log repair"):
        return deny(denial)
    show(repair_lines(repair(start(), PERSON, why)))
    return 0


_TELLING = (
    "test_id",
    "test_ids",
    "status",
    "red",
    "edit_target",
    "verdict",
    "rule",
    "aside",
    "bug",
    "places",
    "path",
    "why",
    "argv",
)
"""The fields that a line shows, in their order."""
_EVENT_DOTS: dict[str, Dot] = {
    e.Accepted.kind(): "green",
    **{event.kind(): "red" for event in (e.Denied, e.Violation, e.Repair)},
}


def lines(records: Iterable[Record]) -> list[Line]:
    """One line an event, in columns as wide as the widest of what is shown."""
    found = list(records)
    texts = [(f"{r.seq}", time_of(r.ts), r.worktree, r.actor.get("role", ""), r.type) for r in found]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [_line(record, text, widths) for record, text in zip(found, texts, strict=True)]


def _line(record: Record, text: tuple[str, ...], widths: Sequence[int]) -> Line:
    seq, *rest = text
    facts = [fact for name in _TELLING if (fact := _fact(record.data.get(name)))]
    columns = (cell.ljust(width) for cell, width in zip(rest, widths[1:], strict=True))
    # A dot takes two columns of its own.
    indent = "" if record.type in _EVENT_DOTS else "  "
    text_of_line = "  ".join((f"{indent}{seq.rjust(widths[0])}", *columns, *facts))
    return Line(text_of_line.rstrip(), _EVENT_DOTS.get(record.type))


def _fact(value: Any) -> str:
    """Words; a number, such as that of the red which a claim cites, means nothing without its name."""
    match value:
        case str():
            return value
        case list() | tuple():
            return " ".join(map(str, value))
        case _:
            return ""


def verification_lines(found: Verification) -> list[Line]:
    findings = [Line(f"event {f.seq}: {f.kind}: {f.message}", "red") for f in found.findings]
    if found.whole:
        return [*findings, Line(f"log intact: {count_of(found.events, 'event')}", "green")]
    return [
        *findings,
        Line(f"damaged: {count_of(len(findings), 'finding')} in {count_of(found.events, 'event')}"),
    ]


def verification_document(found: Verification) -> dict[str, Any]:
    findings = [pick(finding, "seq", "kind", "message") for finding in found.findings]
    return {**pick(found, "whole", "events"), "findings": findings}


def repair_lines(repair: Repair) -> list[Line]:
    log, store = repair.log, repair.store
    found = [Line(f"moved aside: {name}") for name in repair.moved]
    if log.damaged is not None or log.lost:
        kept = f"; the damaged log is kept beside it as {log.damaged}" if log.damaged else ""
        found.append(Line(f"repaired: {log.kept} events kept, {log.lost} lost{kept}"))
    if store.kept:
        objects = count_of(store.damaged, "object")
        found.append(Line(f"repaired the store: {objects} damaged; the old one is kept in {store.kept}"))
    found += [Line(f"lost: {what}", "red") for what in repair.lost]
    if not found:
        return [Line(f"nothing to repair: log and store are intact, {count_of(log.kept, 'event')}")]
    return [*found, Line("next: `tdd status`")]
