from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.state import PassedStep
from verdigris.drivers.machine.history import NOTHING_TO_DO, SENT_BACK, MachineCommit, Position, position
from verdigris.drivers.machine.roles import IMPLEMENTOR, REFACTORER, TESTER

if TYPE_CHECKING:
    from verdigris.models.roles import Role

TEST, IMPL, RE = TESTER, IMPLEMENTOR, REFACTORER


def passed(step: int, role: Role, outcome: str, after: str, why: str = "why") -> PassedStep:
    return PassedStep(step, role.name, outcome, why, after)


def test_an_untouched_project_begins_with_the_tester() -> None:
    assert position((), ()) == Position(1, TEST)


def test_roles_follow_each_other_commit_by_commit() -> None:
    assert position((MachineCommit("a", 1, TEST),), ()) == Position(2, IMPL, "a")
    assert position((MachineCommit("b", 2, IMPL), MachineCommit("a", 1, TEST)), ()) == Position(3, RE, "b")
    assert position((MachineCommit("c", 3, RE), MachineCommit("b", 2, IMPL)), ()) == Position(4, TEST, "c")


def test_a_step_without_a_commit_counts_after_the_commit_that_it_followed() -> None:
    made = (MachineCommit("b", 2, IMPL), MachineCommit("a", 1, TEST))
    assert position(made, (passed(3, RE, NOTHING_TO_DO, "b"),)) == Position(4, TEST, "b")


def test_what_followed_a_commit_that_is_gone_does_not_count() -> None:
    made = (MachineCommit("b2", 2, IMPL), MachineCommit("a", 1, TEST))
    assert position(made, (passed(3, RE, NOTHING_TO_DO, "b"),)) == Position(3, RE, "b2")


def test_a_test_is_sent_back_with_the_finding() -> None:
    made = (MachineCommit("a", 1, TEST),)
    back = (passed(2, IMPL, SENT_BACK, "a", "0 is no sum"),)
    assert position(made, back) == Position(3, TEST, "a", "0 is no sum", (), returned=True)


def test_a_revised_test_goes_to_the_implementor_and_does_not_come_back_again() -> None:
    made = (MachineCommit("c", 3, TEST), MachineCommit("a", 1, TEST))
    back = (passed(2, IMPL, SENT_BACK, "a"),)
    assert position(made, back) == Position(4, IMPL, "c", returned=True)


def test_the_next_round_may_be_sent_back_anew() -> None:
    made = (
        MachineCommit("e", 6, TEST),
        MachineCommit("d", 4, IMPL),
        MachineCommit("c", 3, TEST),
        MachineCommit("a", 1, TEST),
    )
    back = (passed(2, IMPL, SENT_BACK, "a"),)
    assert position(made, back) == Position(7, IMPL, "e")
