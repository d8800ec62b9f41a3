from __future__ import annotations

from verdigris.core.paths import from_elsewhere
from verdigris.core.report import RunEnd, TestReport


def report(loaded: tuple[str, ...] = (), outside: tuple[str, ...] = ()) -> TestReport:
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, loaded=loaded, outside=outside)


def test_a_copy_from_elsewhere_is_named_with_a_way_out() -> None:
    (reason,) = from_elsewhere(report(outside=("/lib/calc.py instead of src/calc.py",)))
    assert reason.startswith("loaded /lib/calc.py instead of src/calc.py: ")
    assert "editable" in reason
    assert from_elsewhere(report()) == ()
