"""Gathers what a role is shown: the committed project, the kata, and notes about this step."""

from __future__ import annotations

import re
from textwrap import shorten
from typing import TYPE_CHECKING

from verdigris.drivers.edits import describe_tools
from verdigris.drivers.machine import history, roles
from verdigris.models.roles.context import Material

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from verdigris.drivers.machine.history import Position
    from verdigris.drivers.machine.open_machine import Machine


_CAME_BACK = """\
Your last test came back. {finding}
Look at it again: fix that test, no other, or make it smaller, so that it follows from the kata and is red \
for the right reason. If it is right as it is, answer test-is-right with the reason, and the implementor \
tries again. If the kata is wrong, answer kata-is-wrong."""
_UPHELD = """\
{finding}
So the test stays as it is: find another way to make it pass."""


def material_of(machine: Machine) -> Material:
    """From git alone, so that a resumed run tells the same; without what is held out in either worktree."""
    project = machine.project
    told = history.record(project.repo, history.commits(project.root), project.classify)
    stack = project.settings.stacks[0]
    return Material(
        kata=machine.kata(),
        classify=project.classify,
        language=stack.language,
        runner=stack.runner,
        kata_path=machine.settings.kata,
        files=told.files,
        ages=told.ages,
        history=told.history,
        tools=tuple(describe_tools(project)),
        withheld=frozenset({*project.state().held_out, *machine.home.state().held_out}),
        budget=machine.settings.prompt_tokens,
    )


def notes_for(now: Position, machine: Machine) -> tuple[str, ...]:
    return tuple(_notes(now, machine))


def _notes(now: Position, machine: Machine) -> Iterator[str]:
    settings = machine.settings
    match now.role:
        case roles.REFACTORER:
            lines = f"{settings.refactor_lines} lines, added and removed"
            yield f"The limits of this refactor: {settings.refactor_files} files and {lines}."
        case roles.TESTER if now.finding:
            yield _CAME_BACK.format(finding=now.finding)
        case roles.IMPLEMENTOR if now.finding:
            yield _UPHELD.format(finding=now.finding)
        case roles.TESTER if points := unshown_points(machine.kata(), now.points):
            yield f"Points of the kata that no test shows yet: {list_points(points)}."
    if now.concerns:
        yield "\n".join(("Concerns about the last commit:", *(f"- {concern}" for concern in now.concerns)))


_ITEM = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<text>\S.*)")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TOLD = 70
_MOST = 12


def points_of(kata: str) -> tuple[str, ...]:
    """The items of its lists, those of the outermost level; a kata in prose has none."""
    found: list[tuple[int, str]] = []
    fenced = False
    for line in kata.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (item := _ITEM.fullmatch(line)):
            found.append((len(item["indent"].expandtabs()), item["text"].strip()))
    outermost = min((indent for indent, _ in found), default=0)
    return tuple(text for indent, text in found if indent == outermost)


def unshown_points(kata: str, shown: Collection[int]) -> tuple[str, ...]:
    """As `3 (one number is its value)`."""
    points = enumerate(points_of(kata), 1)
    return tuple(
        f"{number} ({shorten(text, _TOLD, placeholder=' …')})"
        for number, text in points
        if number not in shown
    )


def list_points(points: Sequence[str]) -> str:
    """Some of them, as one text."""
    more = f", and {len(points) - _MOST} more" if len(points) > _MOST else ""
    return ", ".join(points[:_MOST]) + more
