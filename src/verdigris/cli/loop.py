"""`tdd loop`: programs that pin one behaviour an iteration; here they are made, checked and chosen."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from verdigris.cli.context import here, persons_only
from verdigris.cli.output import deny, json_option, show, show_json
from verdigris.views.lines import Line, count_of

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.drivers.loop.discovery import FoundProgram, ProgramFault
    from verdigris.drivers.loop.schedule import Candidate

NOTHING_DUE = 1


@click.group("loop")
def command() -> None:
    """Programs that pin one behaviour per iteration: made, checked and chosen. Running them comes later."""


@command.command("new")
@click.argument("name", metavar="NAME")
@click.option(
    "--strategy",
    type=click.Choice(["test-driven", "ratchet"]),
    default="test-driven",
    show_default=True,
    help="How an iteration goes.",
)
def new(name: str, strategy: str) -> int:
    """Write a program to fill in, below .autoloop/programs/NAME (a person's command)."""
    from verdigris.drivers.loop.templates import new_program

    if denial := persons_only("loop new"):
        return deny(denial)
    written = new_program(_root(), name, strategy)
    show([Line(f"wrote {path}") for path in written])
    show([Line(f"next: fill in each <CUSTOMIZE: …>, then `tdd loop lint {name}`")])
    return 0


@command.command("lint")
@click.argument("name", metavar="[NAME]", default="")
@json_option
def lint(name: str, *, as_json: bool) -> int:
    """Say what keeps programs from running. Exit code: 1 where something does."""
    from verdigris.drivers.loop.discovery import lint_program

    root = _root()
    found = [(one, lint_program(one, root)) for one in _programs(root, name)]
    if as_json:
        show_json({"programs": [_lint_document(one, faults) for one, faults in found]})
    else:
        show([line for one, faults in found for line in _lint_lines(one, faults)])
    return 1 if any(faults for _, faults in found) else 0


@command.command("due")
@click.argument("name", metavar="[NAME]", default="")
@json_option
def due(name: str, *, as_json: bool) -> int:
    """Say which program is due, and why the others are not. Exit code: 0 one is, 1 none is."""
    from verdigris.drivers.loop.schedule import choose_due, due_document

    root = _root()
    found = choose_due([_candidate(root, one) for one in _programs(root, name)], _now(), forced=name)
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


def _now() -> datetime:
    return datetime.now(UTC)


def _root() -> Path:
    from verdigris.storage.repository import find_repository

    return find_repository(here()).root


def _programs(root: Path, name: str) -> tuple[FoundProgram, ...]:
    from verdigris.drivers.loop.discovery import find_program, find_programs

    return (find_program(root, name),) if name else find_programs(root)


def _candidate(root: Path, one: FoundProgram) -> Candidate:
    from verdigris.drivers.loop.discovery import lint_program
    from verdigris.drivers.loop.memory import read_state
    from verdigris.drivers.loop.schedule import Candidate
    from verdigris.drivers.loop.state_file.text import read_machine_state

    text = read_state(root, one.name)
    return Candidate(one, read_machine_state(text), len(text.encode()), len(lint_program(one, root)))


def _lint_lines(one: FoundProgram, faults: tuple[ProgramFault, ...]) -> list[Line]:
    kind = "test-driven" if one.is_test_driven else "ratchet"
    notes = [Line(f"  {one.path}:{note.line}: {note.what}") for note in one.program.notes]
    if not faults:
        return [Line(f"{one.name} ({kind}) is ready", "green"), *notes]
    head = Line(f"{one.name} ({kind}) does not run: {count_of(len(faults), 'finding')}", "red")
    return [head, *notes, *(Line(f"  {fault}; {fault.fix}") for fault in faults)]


def _lint_document(one: FoundProgram, faults: tuple[ProgramFault, ...]) -> dict[str, object]:
    return {
        "name": one.name,
        "path": one.path,
        "ready": not faults,
        "findings": [
            {"path": fault.path, "line": fault.line, "what": fault.what, "fix": fault.fix} for fault in faults
        ],
        "notes": [note.what for note in one.program.notes],
    }
