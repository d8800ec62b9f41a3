"""Which red a source edit claims by implication, and what is said where there is none, or no single one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Allow, Decision, Deny
from verdigris.core.languages import STUB_MARK, declaring
from verdigris.core.reds import without_parents
from verdigris.core.shown import typed
from verdigris.core.testids import split_id

if TYPE_CHECKING:
    from verdigris.core.actions import FileWrite
    from verdigris.core.state import WorktreeState

RED_FIRST = "red-first"


def about_stubs(denial: Deny, file: FileWrite) -> Deny:
    """Said to who tried one, and where a test may not run before all that it names is declared."""
    if denial.rule != RED_FIRST or file.after is None:
        return denial
    reason, following = denial.reason, denial.next
    mark = STUB_MARK.encode()
    if file.beyond_stubs and mark in file.after and mark not in (file.before or b""):
        reason += f" More than a stub: {file.beyond_stubs}."
    if way := declaring(file.path or ""):
        following += f"; {way}"
    if file.stub:
        following += f"; as a stub: `{file.stub}`"
    return Deny(denial.rule, reason, following)


def implied_claim(state: WorktreeState, edited: str = "") -> Decision:
    """An edit of `edited` claims every valid red when all of them lie in one file."""
    reds = without_parents(state.valid_reds)
    files = {split_id(red.native_id).path for red in reds}
    match len(files):
        case 0:
            return Deny(
                RED_FIRST,
                "No source edit without a test that is red now.",
                "write one failing test, run `tdd test ID`, then `tdd claim ID`; "
                "where behaviour stays as it is: `tdd refactor begin`",
            )
        case 1:
            return Allow(claims=reds)
        case _:
            last = max(reds, key=lambda red: red.seq)
            return Deny(
                "which-red",
                f"{len(reds)} tests are red in {len(files)} files; the edit must say which it advances.",
                f"`tdd claim {typed(last.test_id, edited or 'PATH')}`",
            )
