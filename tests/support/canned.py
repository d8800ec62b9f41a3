"""A suite whose answers are read off the source, for tests about what happens around a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.report import Ended, Failure, RunPhase, Status, TestReport, TestResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from verdigris.kernel.project import Project

PASSES_WITH = {
    "tests/test_add.py::test_add": "a + b",
    "tests/test_sub.py::test_sub": "a - b",
    "tests/test_mul.py::test_mul": "a * b",
}
WRONG = Failure("AssertionError", assertion=True, message="assert False")


def answer(
    project: Project, natives: Sequence[str] = (), *, trace: Sequence[str] = (), **_: Any
) -> TestReport:
    source = "".join(path.read_text() for path in sorted(project.root.glob("*.py")))
    ids = [i for i in PASSES_WITH if (project.root / i.partition("::")[0]).is_file()]
    asked = [i for i in ids if not natives or any(i.startswith(native) for native in natives)]
    results = tuple(_result(i, passed=PASSES_WITH[i] in source) for i in asked)
    lines = dict.fromkeys(trace, frozenset(range(1, 100)))
    return TestReport("pytest", Ended.FINISHED, 0, 1, results, tuple(asked), lines=lines)


def _result(test_id: str, *, passed: bool) -> TestResult:
    status = Status.PASS if passed else Status.FAIL
    return TestResult(test_id, test_id, "native", status, RunPhase.CALL, 1, None if passed else WRONG)


def suite(project: Project, claimed: Sequence[str] = (), **named: Any) -> TestReport:
    return answer(project, **named)


def collected(project: Project, natives: Sequence[str] = ()) -> frozenset[str]:
    return frozenset(answer(project, natives).collected)


def can(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no test is really run."""
    from verdigris.kernel import refactor, testing, trial

    for module in (trial, testing, refactor):
        monkeypatch.setattr(module, "execute_suite", suite)
    for module in (trial, testing):
        monkeypatch.setattr(module, "execute", answer)
    monkeypatch.setattr(trial, "collect", collected)
