"""What a role of the loop is told: the program with its strategy, its state, and the role's task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.drivers.edits import describe_reds
from verdigris.drivers.loop.history import BLOCKED, PASSING, REJECTED
from verdigris.drivers.loop.roles import CODE_WRITER, IMPROVER, OPTIMIZER, TEST_WRITER
from verdigris.drivers.loop.state_file.text import read_sections
from verdigris.models.roles.prompt import Task, clip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.state import Red
    from verdigris.drivers.loop.history import OpenIteration, ProgramState
    from verdigris.drivers.loop.programs.discovery import FoundProgram
    from verdigris.models.roles import Role

_PROMPTS = {
    TEST_WRITER.name: "write-test.md",
    CODE_WRITER.name: "make-green.md",
    IMPROVER.name: "refactor.md",
}
_SECTIONS = ("current priorities", "foreclosed avenues", "future directions")
_TOKENS = 1_500
"""Of one section of the state file, or of a prompt of the strategy."""
_LESSONS, _REJECTED, _PINNED = 20, 8, 40


def task_of(
    role: Role, number: int, found: FoundProgram, state: ProgramState, text: str, reds: tuple[Red, ...] = ()
) -> Task:
    """`text`: the state file, of which people may have written parts."""
    now = state.open
    notes = [*_own_prompt(role, found), *_notes(state, text)]
    returned = role is TEST_WRITER and now is not None and now.pinned is not None
    if now is not None:
        notes += _of_iteration(role, state, now)
    return Task(role, number, describe_reds(reds), tuple(notes), returned=returned)


def _own_prompt(role: Role, found: FoundProgram) -> Iterator[str]:
    for path, text in found.strategies.items():
        if path.rpartition("/")[2] == _PROMPTS.get(role.name):
            yield clip(text.strip(), _TOKENS)


def _notes(state: ProgramState, text: str) -> Iterator[str]:
    sections = read_sections(text)
    for title in _SECTIONS:
        if said := sections.get(title, "").strip():
            yield f"{title.capitalize()}:\n{clip(said, _TOKENS)}"
    if state.lessons:
        yield _listed("Lessons of earlier iterations:", state.lessons[-_LESSONS:])


def _of_iteration(role: Role, state: ProgramState, now: OpenIteration) -> Iterator[str]:
    match role.name:
        case TEST_WRITER.name if now.pinned is not None:
            yield _doubt(now)
        case TEST_WRITER.name:
            yield from _harness(state)
            if now.choice == "rethink":
                last = [note for one in state.iterations[-3:] for note in one.notes[:1]]
                yield _listed(
                    "The last three iterations got no valid test. Take a smaller unit, and read the source"
                    " of truth again:",
                    last,
                )
        case CODE_WRITER.name if now.pinned is not None:
            pinned = now.pinned
            yield f"The test pins: {pinned.behaviour} (source of truth: {pinned.source})."
            if now.reasons:
                yield _listed(f"{now.attempts} attempts failed before; the last for:", now.reasons)
        case IMPROVER.name if now.made is not None:
            yield f"The change that made the test pass has {now.made.lines} lines: yours has fewer."
        case OPTIMIZER.name:
            yield from _ratchet(state)


def _doubt(now: OpenIteration) -> str:
    pinned = now.pinned
    assert pinned is not None  # noqa: S101 - the caller asked
    head = (
        f"Rethink the test {pinned.name}: {now.attempts} attempts to make it pass failed."
        f" Read the source of truth again ({pinned.source}). If the test says otherwise, revise that test"
        " alone; if it is right, answer test-is-right with the reason."
    )
    return _listed(head, now.reasons) if now.reasons else head


def _harness(state: ProgramState) -> Iterator[str]:
    last = state.iterations[-1] if state.iterations else None
    if last is not None and last.status == REJECTED:
        yield _listed(f"The last iteration ({last.change or last.target}) was rejected:", last.notes)
    pinned = [f"{one.target}: {one.behaviour}" for one in state.harness if one.status == PASSING]
    blocked = [f"{one.target}: {one.blocked}" for one in state.harness if one.status == BLOCKED]
    if pinned:
        yield _listed("Pinned already:", pinned[-_PINNED:])
    if blocked:
        yield _listed("Blocked until a person looks; leave these alone:", blocked)


def _ratchet(state: ProgramState) -> Iterator[str]:
    if state.best is not None:
        yield f"The best so far: {state.best.metric:g}."
    rejected = [
        f"{one.change}: {'; '.join(one.notes)}" for one in state.iterations if one.status != "accepted"
    ]
    if rejected:
        yield _listed("Tried and rejected:", rejected[-_REJECTED:])


def _listed(head: str, lines: Iterator[str] | tuple[str, ...] | list[str]) -> str:
    return "\n".join((head, *(f"- {line}" for line in lines)))
