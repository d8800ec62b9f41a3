from __future__ import annotations

from verdigris.drivers.edits import SuiteStanding


def test_a_role_is_told_how_the_tests_stand_and_not_that_all_is_well() -> None:
    assert SuiteStanding(0, ()).words == "There is no test yet."
    assert SuiteStanding(1, ()).words == "The one test there is passes."
    assert SuiteStanding(7, ()).words == "All 7 tests pass."
    assert SuiteStanding(7, ("t.py::a", "t.py::b")).words == "These tests fail now: t.py::a, t.py::b. 7 pass."
    assert not SuiteStanding(7, ("t.py::a",)).green
