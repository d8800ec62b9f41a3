"""A suite whose results are computed from the source, for tests about what happens around a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.core.report import Failure, RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.runners.protocol import TestRequest
from verdigris.storage.project import Project, texts_at

if TYPE_CHECKING:
    import pytest

    from verdigris.execution.room import Layer

PASSES_WITH = {
    "tests/test_add.py::test_add": "a + b",
    "tests/test_sub.py::test_sub": "a - b",
    "tests/test_mul.py::test_mul": "a * b",
}
WRONG = Failure("AssertionError", assertion=True, message="assert False")


def answer(
    project: Project,
    request: TestRequest = TestRequest(),  # noqa: B008 - frozen
    *,
    layer: Layer | None = None,
    **_: Any,
) -> TestReport:
    source, natives, trace = _source(project, layer), request.names, request.trace
    ids = [i for i in PASSES_WITH if (project.root / i.partition("::")[0]).is_file()]
    asked = [i for i in ids if not natives or any(i.startswith(native) for native in natives)]
    results = tuple(_result(i, passed=PASSES_WITH[i] in source) for i in asked)
    lines = dict.fromkeys(trace, frozenset(range(1, 100)))
    return TestReport("pytest", RunEnd.FINISHED, 0, 1, results, tuple(asked), lines=lines, sandbox="overlay")


def _source(project: Project, layer: Layer | None) -> str:
    tree = project.workspace.snapshot() if layer is None else layer.wanted
    paths = [e.path for e in project.workspace.files(tree) if e.path.endswith(".py") and "/" not in e.path]
    return "".join(texts_at(project, tree, paths).values())


def _result(test_id: str, *, passed: bool) -> TestResult:
    status = Status.PASS if passed else Status.FAIL
    return TestResult(test_id, test_id, "native", status, RunPhase.CALL, 1, None if passed else WRONG)


def suite(project: Project, request: TestRequest = TestRequest(), **named: Any) -> TestReport:  # noqa: B008 - frozen
    return answer(project, TestRequest(trace=request.trace), **named)


def collected(project: Project, *, layer: Layer | None = None) -> frozenset[str]:
    return frozenset(answer(project, layer=layer).collected)


def can(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no test is run."""
    from verdigris.checks import coverage, suite_tests
    from verdigris.turns import candidate_run, refactor, test, test_record

    for module in (coverage, test_record, refactor):
        monkeypatch.setattr(module, "execute_suite", suite)
    for module in (candidate_run, coverage, test, test_record):
        monkeypatch.setattr(module, "execute", answer)
    monkeypatch.setattr(suite_tests, "collect", collected)
