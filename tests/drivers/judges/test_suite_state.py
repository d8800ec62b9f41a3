from __future__ import annotations

from verdigris.core.state import PassedStep
from verdigris.drivers.edits import SuiteStanding
from verdigris.drivers.machine.history import SENT_BACK, UPHELD, MachineCommit, position
from verdigris.drivers.machine.roles import IMPLEMENTOR, TESTER


def test_a_role_is_told_how_the_tests_stand_and_not_that_all_is_well() -> None:
    assert SuiteStanding(0, ()).words == "There is no test yet."
    assert SuiteStanding(1, ()).words == "The one test there is passes."
    assert SuiteStanding(7, ()).words == "All 7 tests pass."
    assert SuiteStanding(7, ("t.py::a", "t.py::b")).words == "These tests fail now: t.py::a, t.py::b. 7 pass."
    assert not SuiteStanding(7, ("t.py::a",)).green


def test_a_test_that_the_tester_keeps_is_the_implementors_again_with_what_was_said() -> None:
    made = [MachineCommit("c1", 1, TESTER, ("t.py::a",), points=(2,), concerns=("odd",))]
    passed = [
        PassedStep(2, "implementor", SENT_BACK, "it failed 3 times", "c1"),
        PassedStep(3, "tester", UPHELD, "it is right", "c1"),
    ]
    now = position(made, passed)
    assert (now.step, now.role, now.finding, now.returned) == (4, IMPLEMENTOR, "it is right", True)
    assert (now.tests, now.points, now.concerns) == (("t.py::a",), (2,), ("odd",))
