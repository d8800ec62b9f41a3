"""Where a run stands: which step and which role is next, from the commits and the log alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.value import value
from verdigris.models.roles.role import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.state import PassedStep

SENT_BACK = "sent-back"
"""The implementor could not, or said that the test is wrong: the tester looks at it again."""
UPHELD = "test-is-right"
"""The tester looked at it again and keeps it: the implementor tries once more."""
NOTHING_TO_DO = "nothing-to-do"
NOTHING_RED = "nothing-red"


@value
class Made:
    """A commit of the machine's."""

    commit: str
    step: int
    role: Role
    tests: tuple[str, ...] = ()
    """The ids in its trailers."""
    subject: str = ""
    points: tuple[int, ...] = ()
    """Of the kata, that its test shows."""
    concerns: tuple[str, ...] = ()
    squashed: bool = False
    """It holds more than one step."""


@value
class Position:
    step: int = 1
    role: Role = Role.TESTER
    after: str = ""
    """The machine's last commit."""
    finding: str = ""
    """Why the step came back to the tester; or that the tester thinks the test right, after all."""
    tests: tuple[str, ...] = ()
    """Of the machine's last commit: what the tester left red."""
    returned: bool = False
    """The test of this round was sent back once already."""
    concerns: tuple[str, ...] = ()
    """About the machine's last commit."""
    points: tuple[int, ...] = ()
    """Of the kata, that tests show so far, by what the testers said."""


def position(made: Sequence[Made], passed: Sequence[PassedStep]) -> Position:
    """`made`: the newest first. Steps without a commit count where they followed the last commit."""
    step, role, after = (made[0].step, made[0].role, made[0].commit) if made else (0, Role.REFACTORER, "")
    following, finding = role.following, ""
    for done in passed:
        if done.step <= step or done.after != after:
            continue
        step = done.step
        back = done.outcome == SENT_BACK
        following = Role.TESTER if back else Role(done.role).following
        finding = done.why if back or done.outcome == UPHELD else ""
    tests = made[0].tests if made else ()
    return Position(
        step + 1,
        following,
        after,
        finding,
        tests,
        _returned(made, passed),
        made[0].concerns if made else (),
        tuple(sorted({point for each in made for point in each.points})),
    )


def _returned(made: Sequence[Made], passed: Sequence[PassedStep]) -> bool:
    """Within the round that no implementor has ended yet."""
    round_ = {""} if not made else set()
    for each in made:
        if each.role is not Role.TESTER:
            break
        round_.add(each.commit)
    return any(done.outcome == SENT_BACK and done.after in round_ for done in passed)
