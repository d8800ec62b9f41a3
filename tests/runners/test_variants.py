"""Variants of test files, tried by the real reporter in one start-up."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.interpreters import with_pytest
from support.pyproject import PyProject
from verdigris.core.liveness import Liveness, Plan, Probe, Variant, judge_liveness, plan
from verdigris.core.report import Ended, Status
from verdigris.runners.pytest import invocation
from verdigris.runners.pytest_report import parse

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.report import TestReport

TEST = """
    import pytest
    from calc import twice

    def test_plain():
        assert twice(2) == 4
        assert twice(3)

    @pytest.mark.parametrize("n, expected", [(1, 2), (5, 10)])
    def test_rows(n, expected):
        assert twice(n) == expected

    def test_loop():
        for n in range(3):
            assert twice(n) == n + n

    def test_never():
        if twice is None:
            assert twice(2) == 5
        assert twice(2) == 4
"""
NAMES = ("test_plain", "test_rows", "test_loop", "test_never")
IDS = tuple(f"tests/test_calc.py::{name}" for name in NAMES)
HONEST = "def twice(n): return 2 * n\n"
ANY = "from unittest.mock import ANY\ndef twice(n): return ANY\n"
NO_RUN = HONEST + "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"
ECHO = """
    import sys, linecache
    def twice(n):
        frame = sys._getframe(1)
        if "expected" in frame.f_locals:
            return frame.f_locals["expected"]
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
        return int(line.split("==")[1]) if "==" in line and "+" not in line else 2 * n
"""


def made(tmp_path: Path, source: str = HONEST, test: str = TEST, python: str = sys.executable) -> PyProject:
    project = PyProject(tmp_path / "a project", python)
    project.write("calc.py", source)
    project.write("tests/test_calc.py", test)
    return project


def planned(project: PyProject, *ids: str) -> Plan:
    paths = [str(path.relative_to(project.root)) for path in project.root.rglob("*.py")]
    tests = {path: (project.root / path).read_text("utf-8") for path in paths if path.startswith("tests")}
    return plan(tests, ids or IDS)


def judged(project: PyProject, *ids: str, **options: Any) -> tuple[TestReport, Liveness]:
    tries = planned(project, *ids)
    report = project.test(*(ids or IDS), variants=tries.variants, disposable=True, **options)
    return report, judge_liveness(tries, report.variants)


def test_honest_code_is_alive(tmp_path: Path) -> None:
    project = made(tmp_path)
    file = project.root / "tests/test_calc.py"
    before = file.read_bytes(), file.stat().st_mtime_ns
    report, live = judged(project)
    assert (report.ended, report.exit_code, report.strays) == (Ended.FINISHED, 0, 0)
    assert [result.status for result in report.results] == [Status.PASS] * 5
    assert len(report.variants) == 2
    assert live.hollow == ()
    assert [line.split(": ")[-1] for line in live.unreached] == [
        "it was not reached, or its failure is caught"
    ]
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert "failed" not in report.tail


@pytest.mark.parametrize(("source", "hollow"), [(ANY, 4), (NO_RUN, 6), (ECHO, 3)])
def test_green_without_its_assertions_is_hollow(tmp_path: Path, source: str, hollow: int) -> None:
    report, live = judged(made(tmp_path, source), *IDS)
    assert {result.status for result in report.results} == {Status.PASS}
    assert len(live.hollow) == hollow, live


def test_a_swallowed_assertion_is_hollow(tmp_path: Path) -> None:
    source = HONEST.replace("2 * n", "3 * n") + (
        "import _pytest.python\nrun = _pytest.python.Function.runtest\n"
        "def quiet(self):\n    try: run(self)\n    except AssertionError: pass\n"
        "_pytest.python.Function.runtest = quiet\n"
    )
    assert len(judged(made(tmp_path, source), IDS[0])[1].hollow) == 2


def test_every_variant_starts_from_nothing_of_the_project(tmp_path: Path) -> None:
    test = """
        import os, sys, calc
        def test_x():
            with open("seen", "a") as seen:
                argv = [word for word in sys.argv[1:] if "cache_dir" not in word]
                print(calc.count(), argv, os.getcwd() in sys.path, "__main__" in sys.argv[0], file=seen)
            assert calc.N == 1
            assert calc.N
    """
    project = made(tmp_path, "N = 0\ndef count():\n    global N\n    N += 1\n    return N\n", test)
    live = judged(project, "tests/test_calc.py::test_x")[1]
    assert (live.hollow, live.unreached) == ((), ())
    runs = (project.root / "seen").read_text().splitlines()
    assert len(runs) == 3
    assert len(set(runs)) == 1
    assert runs[0].startswith("1 [")
    assert runs[0].endswith("] True True")


LOADED = """
    import sys
    EARLY = "wave" in sys.modules
    import wave
    from calc import twice

    def test_x():
        with open("seen", "a") as seen:
            print(EARLY, file=seen)
        {more}
        assert twice(2) == 4
"""


@pytest.mark.parametrize(
    ("conftest", "more", "seen"),
    [
        ("", "pass", ["False", "True"]),
        ("import os; os.environ['WAVE'] = '1'", "pass", ["False", "False"]),
        ("", "sys.exit() if EARLY else None", ["False", "True", "False"]),
    ],
    ids=["shared", "not where variables are set first", "tried again where that makes a difference"],
)
def test_tries_share_what_the_plain_run_loaded_from_the_environment(
    tmp_path: Path, conftest: str, more: str, seen: list[str]
) -> None:
    project = made(tmp_path, test=LOADED.format(more=more))
    project.write("conftest.py", conftest)
    report, live = judged(project, "tests/test_calc.py::test_x")
    assert report.results[0].status is Status.PASS
    assert live == Liveness((), ())
    assert (project.root / "seen").read_text().split() == seen


def test_a_plugin_of_the_project_named_in_its_configuration_is_loaded_by_each_try(tmp_path: Path) -> None:
    """Also where it holds the assertion that is changed."""
    project = made(tmp_path, test="from tests.checks import check\ndef test_x(): check(4)\n")
    project.write("pytest.ini", "[pytest]\naddopts = -p tests.checks\npythonpath = .\n")
    project.write("tests/__init__.py", "")
    project.write("tests/checks.py", "from calc import twice\ndef check(n):\n    assert twice(2) == n\n")
    report, live = judged(project, "tests/test_calc.py::test_x")
    assert (report.results[0].status, live) == (Status.PASS, Liveness((), ()))
    project.write("calc.py", ANY)
    assert len(judged(project, "tests/test_calc.py::test_x")[1].hollow) == 1


def test_an_old_byte_code_is_never_taken_for_a_variant(tmp_path: Path) -> None:
    """Same size, same second: only the time that we set tells them apart."""
    test_id = "tests/test_calc.py::test_x"
    project = made(tmp_path, test="from helper import N\ndef test_x(): assert N == 1\n")
    project.write("tests/helper.py", "N = 1\n")
    probe = Probe("tests/helper.py", 1, "", (test_id,), (1, 1))
    tries = [Variant({"tests/helper.py": f"N = {n}\n"}, (probe,)) for n in (2, 1, 3)]
    for _ in range(2):
        report = project.test("tests", variants=tries, disposable=True, env={"PYTHONDONTWRITEBYTECODE": ""})
        assert report.results[0].status is Status.PASS
        assert [outcome.outcomes[test_id] for outcome in report.variants] == ["failed", "passed", "failed"]
    assert [*project.root.rglob("helper.*.pyc")]


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    project = made(tmp_path)
    file = project.root / "tests/test_calc.py"
    file.write_bytes(b"# coding: latin-1\r\nX = '\xe9'\r\ndef test_x():\r\n    assert len(X) == 1\r\n")
    tries = plan({"tests/test_calc.py": file.read_bytes().decode("latin-1")}, ["tests/test_calc.py::test_x"])
    report = project.test("tests/test_calc.py::test_x", variants=tries.variants, disposable=True)
    assert judge_liveness(tries, report.variants) == Liveness((), ())
    assert file.read_bytes().startswith(b"# coding: latin-1\r\nX = '\xe9'")


def variant(text: str, *ids: str, line: int = 2) -> Variant:
    return Variant({"tests/test_calc.py": text}, (Probe("tests/test_calc.py", line, "x", ids, (line, line)),))


def test_what_was_not_reached_is_said(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    texts = {
        "def test_x(): import os; os._exit(0)\n": "the run ended early",
        "def test_x(: pass\n": "tests/test_calc.py cannot be collected: SyntaxError",
        "def test_y(): pass\n": "",
        "import pytest\n@pytest.fixture\ndef f(): 1/0\ndef test_x(f): pass\n": "",
    }
    tries = [variant(text, "tests/test_calc.py::test_x") for text in texts]
    report = project.test("tests", variants=tries, disposable=True)
    assert [outcome.why for outcome in report.variants] == list(texts.values())
    outcomes = [dict(outcome.outcomes) for outcome in report.variants]
    assert outcomes == [{}, {}, {}, {"tests/test_calc.py::test_x": "skipped"}]
    assert (project.root / "tests/test_calc.py").read_text() == "def test_x(): pass\n"


def test_time_is_limited(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    endless = variant("def test_x(): import time; time.sleep(600)\n", "tests/test_calc.py::test_x")
    report = project.test("tests", variants=[endless, endless], variant_seconds=0.3, disposable=True)
    assert [outcome.why for outcome in report.variants] == ["no time was left"] * 2
    assert report.ended is Ended.FINISHED
    assert (project.root / "tests/test_calc.py").read_text() == "def test_x(): pass\n"


def test_nothing_is_written_where_the_tree_is_not_disposable(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): open('seen', 'a').write('x')\n")
    report = project.test("tests", variants=[variant("", "tests/test_calc.py::test_x")])
    assert [outcome.why for outcome in report.variants] == ["the tree is not disposable"]
    assert (project.root / "seen").read_text() == "x"


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    lost = Variant({"tests/no/test_no.py": ""}, ())
    report = project.test("tests", variants=[lost], disposable=True)
    assert report.variants[0].why.startswith("tests/no/test_no.py cannot be changed: ")


@pytest.mark.parametrize(
    ("source", "ended"),
    [
        ("import os; os._exit(0)", Ended.EARLY_EXIT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Ended.DIED),
        ("import os; os._exit(3)", Ended.EARLY_EXIT),
    ],
)
def test_a_plain_run_that_ends_badly_ends_as_before(tmp_path: Path, source: str, ended: Ended) -> None:
    body = source.replace("import os", "import os\n    import os", 1)
    project = made(tmp_path, f"def twice(n):\n    {body}\n")
    report = judged(project, IDS[0])[0]
    alone = project.test(IDS[0])
    assert (report.ended, report.exit_code) == (alone.ended, alone.exit_code)
    assert report.ended is ended
    assert report.results == alone.results


def test_a_module_that_hides_one_of_pytests_is_not_loaded_by_the_lead(tmp_path: Path) -> None:
    project = made(tmp_path)
    project.write("iniconfig.py", "import os\nopen('seen', 'a').write('x')\nclass IniConfig: pass\n")
    report = judged(project, IDS[0])[0]
    assert (project.root / "seen").read_text() == "x"
    assert {outcome.why for outcome in report.variants} == {
        "the project hides a module that the test runner needs"
    }


def test_the_plain_run_cannot_be_written_by_a_variant(tmp_path: Path) -> None:
    """Neither by the reporter's own object, nor by what it finds open."""
    source = """
        import os
        from verdigris_reporter.channel import CHANNEL
        def twice(n):
            if os.path.exists("variant"):
                forged = {"kind": "test", "id": "x", "phase": "call", "outcome": "passed", "ms": 1}
                CHANNEL.send(**forged)
                import json, socket, stat
                for fd in range(3, 64):
                    try:
                        if stat.S_ISSOCK(os.fstat(fd).st_mode):
                            os.write(fd, b"5f0c " + json.dumps(forged).encode() + b"\\n")
                    except OSError: pass
            return 2 * n
    """
    project = made(tmp_path, source)
    text = "from calc import twice\nopen('variant', 'w')\ndef test_plain(): assert twice(2) == 5\n"
    report = project.test(IDS[0], variants=[variant(text, IDS[0], line=3)], disposable=True)
    assert [result.id for result in report.results] == [IDS[0]]
    assert (report.strays, report.variants[0].outcomes[IDS[0]]) == (0, "failed")


def test_a_variant_that_is_reported_twice_says_nothing() -> None:
    told = {"kind": "variant", "index": 0, "outcomes": {"t": "failed"}, "stood": {}, "places": {}, "why": ""}
    line = f"n {json.dumps(told)}".encode()

    def read(*lines: bytes) -> TestReport:
        return parse(lines, nonce="n", command="c", exit_code=0, timed_out=False, duration_ms=1)

    assert read(line).variants[0].outcomes == {"t": "failed"}
    twice = read(line, line)
    assert (twice.strays, twice.variants[0].why) == (1, "it was reported twice")
    assert twice.variants[0].outcomes == {}


def test_the_greeting_holds_variants_only_where_they_are_asked_for() -> None:
    def greeting(**options: Any) -> dict[str, Any]:
        made = invocation("py", ["api/t.py"], worktree="/w", stack_root="api", nonce="n", **options)
        found: dict[str, Any] = json.loads(made.hello)
        return found

    assert greeting().keys() == {"nonce", "argv", "worktree", "select", "trace"}
    one = Variant({"api/t.py": "x"}, (Probe("api/t.py", 1, "", ("api/t.py::test_x",), (1, 1)),))
    told = greeting(variants=[one], variant_seconds=2.5, disposable=True, cache_dir="/c", extra=["-v"])
    assert (told["variant_seconds"], told["disposable"]) == (2.5, True)
    (sent,) = told["variants"]
    assert (sent["files"], sent["select"]) == ({"api/t.py": "x"}, ["api/t.py::test_x"])
    assert sent["argv"][-3:] == ["-o", "cache_dir=/c/0", "t.py"]
    assert "-v" in sent["argv"]
    assert sent["at"] == {"api/t.py::test_x": [["api/t.py", 1, 1]]}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_variants_in_another_python(tmp_path: Path, version: str) -> None:
    python = with_pytest(version)
    if python is None:
        pytest.skip(f"no python{version} with pytest 7 or newer on PATH or in $PYENV_ROOT")
    report, live = judged(made(tmp_path / "honest", python=python))
    assert (report.ended, live.hollow, len(live.unreached)) == (Ended.FINISHED, (), 1)
    assert len(judged(made(tmp_path / "deaf", ANY, python=python))[1].hollow) == 4
