"""What a role of the loop is asked, and told besides the program and the files."""

from __future__ import annotations

from collections.abc import Iterator

from verdigris.core.roles import names_of
from verdigris.core.state import Red
from verdigris.drivers.edits import describe_reds
from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.history import BLOCKED, PASSING, REJECTED, OpenIteration, ProgramState
from verdigris.drivers.loop.state_file.text import one_line, read_sections
from verdigris.models.roles import Role
from verdigris.models.roles.prompt import Task, clip
from verdigris.models.roles.teams import LOOP

DRIVER = "loop"

_SECTIONS = ("current priorities", "foreclosed avenues", "future directions")
_TOKENS = 1_500
"""The most of one section of the state file, or of a prompt of the strategy."""
_LESSONS, _REJECTED, _PINNED = 20, 8, 40


TESTER, CODER, REFACTORER, OPTIMIZER = LOOP.roles
TEST_DRIVEN = names_of(DRIVER, "tester", "coder", "refactorer")
RATCHET = names_of(DRIVER, "optimizer")
"""The roles that need a player, by the strategy of the program."""
_PROMPTS = {
    TESTER.name: "write-test.md",
    CODER.name: "make-green.md",
    REFACTORER.name: "refactor.md",
}


def task_of(
    role: Role, number: int, found: FoundProgram, state: ProgramState, text: str, reds: tuple[Red, ...] = ()
) -> Task:
    """`text`: the state file, with what people wrote there."""
    now = state.open
    own = [said for path, said in found.strategies.items() if path.endswith(f"/{_PROMPTS.get(role.name)}")]
    notes = [*(clip(said.strip(), _TOKENS) for said in own), *_notes(state, text)]
    returned = role is TESTER and now is not None and now.pinned is not None
    if now is not None:
        notes += _of_iteration(role, state, now)
    return Task(role, number, describe_reds(reds), tuple(notes), returned=returned)


def _notes(state: ProgramState, text: str) -> Iterator[str]:
    sections = read_sections(text)
    for title in _SECTIONS:
        if said := sections.get(title, "").strip():
            yield f"{title.capitalize()}:\n{clip(said, _TOKENS)}"
    # Those that a person added to the state file too.
    lines = map(str.strip, sections.get("lessons learned", "").splitlines())
    written = (one_line(line[1:]) for line in lines if line.startswith(("- ", "* ")))
    if lessons := tuple(dict.fromkeys((*written, *map(one_line, state.lessons)))):
        yield _list_lines("Lessons of earlier iterations:", lessons[-_LESSONS:])


def _of_iteration(role: Role, state: ProgramState, now: OpenIteration) -> Iterator[str]:
    match role.name:
        case TESTER.name if now.pinned is not None:
            yield _doubt(now)
        case TESTER.name:
            yield from _harness(state)
            if now.choice == "rethink":
                last = [note for one in state.iterations[-3:] for note in one.notes[:1]]
                yield _list_lines(
                    "The last three iterations got no valid test. Take a smaller unit, and read the source"
                    " of truth again:",
                    last,
                )
        case CODER.name if now.pinned is not None:
            pinned = now.pinned
            yield f"The test pins: {pinned.behaviour} (source of truth: {pinned.source})."
            if now.reasons:
                yield _list_lines(f"{now.attempts} attempts failed before; the last for:", now.reasons)
        case REFACTORER.name if now.made is not None:
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
    return _list_lines(head, now.reasons) if now.reasons else head


def _harness(state: ProgramState) -> Iterator[str]:
    last = state.iterations[-1] if state.iterations else None
    if last is not None and last.status == REJECTED:
        yield _list_lines(f"The last iteration ({last.change or last.target}) was rejected:", last.notes)
    pinned = [f"{one.target}: {one.behaviour}" for one in state.harness if one.status == PASSING]
    blocked = [f"{one.target}: {one.blocked}" for one in state.harness if one.status == BLOCKED]
    if pinned:
        yield _list_lines("Pinned already:", pinned[-_PINNED:])
    if blocked:
        yield _list_lines("Blocked until a person looks; leave these alone:", blocked)


def _ratchet(state: ProgramState) -> Iterator[str]:
    if state.best is not None:
        yield f"The best so far: {state.best.metric:g}."
    rejected = [
        f"{one.change}: {'; '.join(one.notes)}" for one in state.iterations if one.status != "accepted"
    ]
    if rejected:
        yield _list_lines("Tried and rejected:", rejected[-_REJECTED:])


def _list_lines(head: str, lines: Iterator[str] | tuple[str, ...] | list[str]) -> str:
    return "\n".join((head, *(f"- {line}" for line in lines)))
