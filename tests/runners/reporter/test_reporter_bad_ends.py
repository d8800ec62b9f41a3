"""A run that dies, hangs, floods or exits early is reported as what it is."""

from __future__ import annotations

import venv
from pathlib import Path

import pytest

from support.pyproject import PyProject
from verdigris.core.report import Place, RunEnd, RunPhase, Status, TestReport
from verdigris.runners.python import PYTEST, UNITTEST, PythonTool

PASSING = "def test_first(): pass\n"


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    return PyProject(tmp_path / "p")


def run(project: PyProject, body: str, **options: object) -> TestReport:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"import os, signal, sys, time\n{PASSING}def test_bad():\n{lines}def test_last(): assert 0\n"
    (project.root).mkdir(exist_ok=True)
    (project.root / "test_a.py").write_text(text)
    return project.test(**options)


def outline(report: TestReport) -> list[tuple[str, str, str | None]]:
    return [
        (r.id.partition("::")[2], r.status, r.failure.kind if r.failure else None) for r in report.results
    ]


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        ("os._exit(0)", RunEnd.EARLY_EXIT),
        ("os._exit(7)", RunEnd.EARLY_EXIT),
        ("os.kill(os.getpid(), signal.SIGKILL)", RunEnd.DIED),
        ("os.closerange(3, 200)\nos._exit(0)", RunEnd.EARLY_EXIT),
        ("raise KeyboardInterrupt", RunEnd.EARLY_EXIT),
        ("import pytest; pytest.exit('enough', returncode=0)", RunEnd.EARLY_EXIT),
    ],
)
def test_the_running_test_is_to_blame(project: PyProject, body: str, ended: RunEnd) -> None:
    report = run(project, body)
    assert report.ended is ended
    assert outline(report) == [("test_first", "pass", None), ("test_bad", "error", "Crash")]
    assert report.collected == ("test_a.py::test_first", "test_a.py::test_bad", "test_a.py::test_last")


def test_hang(project: PyProject) -> None:
    report = run(project, "time.sleep(60)", timeout=6)
    assert report.ended is RunEnd.TIMEOUT
    assert outline(report)[1:] == [("test_bad", "error", "Timeout")]


def test_timeout_plugin_fails_a_test_as_a_timeout(project: PyProject) -> None:
    report = run(project, "time.sleep(60)", extra=["-p", "pytest_timeout", "--timeout=1"])
    assert report.ended is RunEnd.FINISHED
    assert outline(report)[1] == ("test_bad", "fail", "Timeout")


LOOPS = """
    import time

    def spin():
        while True:
            pass

    def deaf():
        while True:
            try:
                time.sleep(60)
            except Exception:
                pass

    def swallow():
        try:
            spin()
        except BaseException:
            time.sleep(60)
"""
HANGS = """
    import signal, time, unittest, loops

    class TestHangs(unittest.TestCase):
        def test_spin(self): loops.spin()
        def test_deaf(self): loops.deaf()
        def test_swallow(self): loops.swallow()
        def test_own(self): time.sleep(60)
        def test_quick(self): self.assertEqual(1, 1)
        def test_own_alarm(self):
            signal.signal(signal.SIGALRM, lambda *_: self.fail("mine"))
            signal.setitimer(signal.ITIMER_REAL, 1.2)
            time.sleep(60)
"""


@pytest.mark.parametrize("tool", [PYTEST, UNITTEST])
def test_a_test_that_does_not_end_is_stopped_where_it_is_and_the_run_goes_on(
    tmp_path: Path, tool: PythonTool
) -> None:
    project = PyProject(tmp_path / "p", tool=tool)
    project.write("loops.py", LOOPS)
    project.write("test_a.py", HANGS)
    report = project.test(limit=0.5, timeout=60)
    assert report.ended is RunEnd.FINISHED
    ends = {
        r.id.rpartition("::")[2]: (r.failure.kind, r.failure.message, r.failure.own_place)
        for r in report.results
        if r.failure
    }
    assert ends["test_spin"][:2] == ("Timeout", "stopped after 0.5 s, while it ran in loops.py:5")
    assert ends["test_deaf"][2] == Place("loops.py", 11)
    assert ends["test_swallow"][2] == Place("loops.py", 19)
    assert ends["test_own"][:2] == ("Timeout", "stopped after 0.5 s, while it ran in test_a.py:8")
    assert ends["test_own_alarm"][:2] == ("AssertionError", "mine")
    assert "test_quick" not in ends
    assert len(report.results) == 6


def test_a_hang_in_a_fixture_is_stopped_too(project: PyProject) -> None:
    project.write("loops.py", LOOPS)
    project.write(
        "test_a.py",
        "import loops, pytest\n@pytest.fixture\ndef made(): loops.spin()\ndef test_it(made): pass\n",
    )
    (result,) = project.test(limit=0.5).results
    assert (result.status, result.phase) == (Status.ERROR, RunPhase.SETUP)
    assert result.failure is not None
    assert result.failure.own_place == Place("loops.py", 5)


def test_flood(project: PyProject) -> None:
    report = run(project, "for _ in range(2000): print('x' * 10_000)\nassert 0", extra=["-s"])
    assert report.ended is RunEnd.FINISHED
    assert [r.status for r in report.results] == [Status.PASS, Status.FAIL, Status.FAIL]
    captured = run(project, "for _ in range(2000): print('x' * 10_000)\nassert 0").results[1]
    assert 0 < len(captured.output) < 20_000


def test_all_descriptors_closed(project: PyProject) -> None:
    report = run(project, "os.closerange(0, 200)")
    assert report.ended in {RunEnd.EARLY_EXIT, RunEnd.DIED}
    assert outline(report)[1] == ("test_bad", "error", "Crash")


def test_a_closed_channel_whose_number_went_to_a_file_is_not_written_to(project: PyProject) -> None:
    body = "os.closerange(3, 200)\nfor n in range(3, 200): os.open('mine', os.O_CREAT | os.O_WRONLY)"
    report = run(project, body, extra=["-s"])
    assert report.ended is not RunEnd.FINISHED
    assert (project.root / "mine").read_bytes() == b""


def test_a_forked_child_that_runs_on_says_nothing(project: PyProject) -> None:
    report = run(project, "if os.fork(): os.wait()\nelse: raise ValueError")
    assert report.ended is RunEnd.FINISHED
    assert outline(report) == [
        ("test_first", "pass", None),
        ("test_bad", "pass", None),
        ("test_last", "fail", "AssertionError"),
    ]


def test_exit_after_the_last_test(project: PyProject) -> None:
    project.write("conftest.py", "import os\ndef pytest_sessionfinish(): os._exit(0)")
    project.write("test_a.py", PASSING)
    report = project.test()
    assert (report.ended, report.exit_code) == (RunEnd.EARLY_EXIT, 0)


def test_exit_in_a_teardown(project: PyProject) -> None:
    project.write(
        "test_a.py",
        """
        import os, pytest
        @pytest.fixture
        def f():
            yield
            os._exit(0)
        def test_a(f): pass
        """,
    )
    report = project.test()
    assert report.ended is RunEnd.EARLY_EXIT
    assert outline(report) == [("test_a", "error", "Crash")]


def test_no_tests(project: PyProject) -> None:
    project.write("test_a.py", "")
    report = project.test()
    assert (report.ended, report.exit_code, report.results) == (RunEnd.FINISHED, 5, ())


@pytest.mark.parametrize(
    ("name", "text"), [("pytest.ini", "[pytest]\naddopts = --no-such-option\n"), ("pytest.ini", "not an ini")]
)
def test_bad_configuration(project: PyProject, name: str, text: str) -> None:
    project.write(name, text)
    project.write("test_a.py", PASSING)
    report = project.test()
    assert report.ended is RunEnd.NO_START
    assert report.tail


def test_missing_path(project: PyProject) -> None:
    project.root.mkdir()
    report = project.test("test_gone.py::test_x")
    assert (report.ended, report.exit_code) == (RunEnd.NO_START, 4)
    assert "test_gone.py" in report.tail


def test_a_conftest_that_cannot_be_imported(project: PyProject) -> None:
    project.write("conftest.py", "import no_such_module")
    project.write("test_a.py", PASSING)
    report = project.test()
    assert report.ended is RunEnd.NO_START
    assert [(e.path, e.kind) for e in report.errors] == [("conftest.py", "ModuleNotFoundError")]


def test_an_internal_error(project: PyProject) -> None:
    project.write("conftest.py", "def pytest_runtest_protocol(item): raise ValueError")
    project.write("test_a.py", PASSING)
    report = project.test()
    assert (report.ended, report.exit_code) == (RunEnd.EARLY_EXIT, 3)


def test_an_interpreter_without_pytest(project: PyProject) -> None:
    project.write("test_a.py", PASSING)
    bare = project.root.parent / "bare"
    venv.create(bare, symlinks=True)
    report = PyProject(project.root, str(bare / "bin" / "python")).test()
    assert (report.ended, [e.kind for e in report.errors]) == (RunEnd.NO_START, ["NoPytest"])
    assert "No module named pytest" in report.tail
