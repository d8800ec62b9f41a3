"""Variants of test files, tried by the real reporter in one start-up."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.alive import decoded, plan
from support.interpreters import other_python
from support.pyproject import PyProject, channel_of
from verdigris.checks.liveness.judgement import LivenessFindings, judge_runs
from verdigris.core.report import RunEnd, TestReport
from verdigris.languages.probes import RunSet
from verdigris.runners.protocol import ReportChannel, RequestedRuns, RunnerAnswer, RunnerCall, TestRequest
from verdigris.runners.python import PYTEST, PythonRunner
from verdigris.runners.python.report import parse

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


def made_runs(project: PyProject, *ids: str, few: int = 1) -> RunSet:
    paths = [str(path.relative_to(project.root)) for path in project.root.rglob("*.py")]
    tests = {path: (project.root / path).read_text("utf-8") for path in paths if path.startswith("tests")}
    random = Random(5)
    return plan(tests, ids or IDS, random, few=few)


def asked(runs: RunSet, **options: Any) -> RequestedRuns:
    return RequestedRuns(decoded(runs), **options)


def judged(project: PyProject, *ids: str, **options: Any) -> tuple[TestReport, LivenessFindings]:
    tries = made_runs(project, *ids)
    runs = asked(tries, **options)
    report = project.test(*(ids or IDS), runs=runs, disposable=True)
    return report, judge_runs(tries, report.variants, ids or IDS)


@pytest.mark.parametrize("bare", [False, True])
def test_honest_code_is_alive(tmp_path: Path, bare: bool) -> None:
    project = made(tmp_path)
    file = project.root / "tests/test_calc.py"
    before = file.read_bytes(), file.stat().st_mtime_ns
    report, live = judged(project, bare=bare)
    assert (report.ended, report.exit_code, report.strays) == (RunEnd.FINISHED, 0, 0)
    assert (live.hollow, live.unlike) == ({}, ())
    assert [probe.line for probe in live.suspects] == [19]
    assert {one.partition("[")[0] for one in live.seen} == set(IDS)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert "failed" not in report.tail


@pytest.mark.parametrize(("source", "hollow"), [(ANY, 4), (NO_RUN, 4), (ECHO, 4)])
def test_green_without_its_assertions_is_hollow(tmp_path: Path, source: str, hollow: int) -> None:
    _, live = judged(made(tmp_path, source), *IDS)
    assert live.unlike == ()
    assert len(live.hollow) + len({p.cases for p in live.suspects if p.line == 15}) == hollow, live


def test_a_swallowed_assertion_is_hollow(tmp_path: Path) -> None:
    source = HONEST.replace("2 * n", "3 * n") + (
        "import _pytest.python\nrun = _pytest.python.Function.runtest\n"
        "def quiet(self):\n    try: run(self)\n    except AssertionError: pass\n"
        "_pytest.python.Function.runtest = quiet\n"
    )
    assert len(judged(made(tmp_path, source), IDS[0])[1].hollow[IDS[0]]) == 2


LOOK = """
    import gc, json, os, sys
    def look():
        test = os.stat("tests/test_calc.py")
        frame, stack = sys._getframe(), []
        while frame:
            stack.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else "")
            frame = frame.f_back
        return {
            "file": [test.st_size, test.st_mtime_ns, test.st_ino, test.st_nlink, test.st_mode],
            "argv": sys.argv, "path": sys.path, "flags": list(sys.flags), "stack": stack,
            "env": dict(os.environ), "gc": [gc.get_freeze_count() > 0, gc.get_threshold(), gc.isenabled()],
            "modules": sorted(sys.modules), "descriptors": sorted(os.listdir("/proc/self/fd")),
            "ends": [os.readlink(f"/proc/self/fd/{n}").split("#")[0] for n in (0, 1, 2)], "cwd": os.getcwd(),
            "traced": sys.gettrace() is not None, "written": sys.dont_write_bytecode,
        }
    def twice(n):
        with open("../seen", "a") as seen:
            print(json.dumps(look()), file=seen)
        return 2 * n
"""


@pytest.mark.parametrize("bare", [False, True])
def test_no_run_looks_other_than_the_one_with_the_true_text(tmp_path: Path, bare: bool) -> None:
    test = "import calc\ndef test_x():\n    assert calc.twice(2) == 4\n    assert calc.twice(5) == 10\n"
    project = made(tmp_path, LOOK, test)
    report, live = judged(project, "tests/test_calc.py::test_x", bare=bare)
    assert live.seen
    assert len(report.variants) >= 3
    lines = [json.loads(line) for line in (project.root.parent / "seen").read_text().splitlines()]
    for name in lines[0]:
        assert len({json.dumps(line[name]) for line in lines}) == 1, name


def test_no_process_of_a_run_knows_the_texts_of_the_others(tmp_path: Path) -> None:
    """Neither in its frames, nor in what the collector of garbage tracks."""
    source = """
        import gc, re
        def twice(n):
            found = set()
            for known in gc.get_objects():
                if isinstance(known, (dict, list, tuple)) and len(known) < 99:
                    found.update(re.findall("twice.2. == ([0-9]+)", str(known)))
            with open("../seen", "a") as seen:
                print(len(found), file=seen)
            return 2 * n
    """
    test = "import calc\ndef test_x():\n    assert calc.twice(2) == 4\n"
    project = made(tmp_path, source, test)
    judged(project, "tests/test_calc.py::test_x")
    assert {*(project.root.parent / "seen").read_text().split()} <= {"0", "1"}


REMEMBERING = """
    import os, pathlib
    def twice(n):
        marks = [pathlib.Path(name) for name in ("mark", "tests/deep/mark", "conftest.py")]
        seen = [mark.exists() and "seen" in mark.read_text() for mark in marks]
        seen.append(pathlib.Path("gone").exists())
        with open("../seen", "a") as told:
            print(seen, file=told)
        for mark in marks:
            mark.parent.mkdir(exist_ok=True)
            mark.write_text("# seen")
        pathlib.Path("gone").unlink()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                import time
                time.sleep(2)
                pathlib.Path("mark").write_text("seen")
                pathlib.Path("../late").write_text("seen")
            os._exit(0)
        return 2 * n
"""


def test_no_run_can_tell_that_another_went_before(tmp_path: Path) -> None:
    project = made(tmp_path, REMEMBERING, "import calc\ndef test_x():\n    assert calc.twice(2) == 4\n")
    project.write("conftest.py", "")
    project.write("gone", "still here")
    report, live = judged(project, "tests/test_calc.py::test_x")
    assert live.seen
    told = (project.root.parent / "seen").read_text().splitlines()
    assert told == ["[False, False, False, True]"] * len(report.variants)
    assert (project.root / "conftest.py").read_text() == ""
    time.sleep(2.5)
    assert not (project.root.parent / "late").exists()


def test_every_run_starts_from_nothing_of_the_project(tmp_path: Path) -> None:
    test = """
        import os, sys, calc
        def test_x():
            with open("../seen", "a") as seen:
                print(calc.count(), sys.argv[1:], os.getcwd() in sys.path, file=seen)
            assert calc.N == 1
            assert calc.N
    """
    project = made(tmp_path, "N = 0\ndef count():\n    global N\n    N += 1\n    return N\n", test)
    live = judged(project, "tests/test_calc.py::test_x")[1]
    assert (live.hollow, live.unreached) == ({}, {})
    runs = (project.root.parent / "seen").read_text().splitlines()
    assert len(runs) == 3
    assert len(set(runs)) == 1
    assert runs[0].startswith("1 [")


LOADED = """
    import sys
    EARLY = "wave" in sys.modules
    import wave
    from calc import twice

    def test_x():
        with open("../seen", "a") as seen:
            print(EARLY, file=seen)
        assert twice(2) == 4
"""


@pytest.mark.parametrize(
    ("preload", "seen"),
    [((), {"False"}), (("wave",), {"True"}), (("wave", "no_such_module"), {"False"})],
    ids=["not told", "shared", "all load for themselves where that fails"],
)
def test_runs_share_what_was_loaded_of_the_environment(
    tmp_path: Path, preload: tuple[str, ...], seen: set[str]
) -> None:
    project = made(tmp_path, test=LOADED)
    live = judged(project, "tests/test_calc.py::test_x", preload=preload)[1]
    assert (live.unlike, live.unreached) == ((), {})
    assert set((project.root.parent / "seen").read_text().split()) == seen


@pytest.mark.parametrize(("conftest", "told"), [("", True), ("import os; os.environ['WAVE'] = '1'", False)])
def test_a_verdicts_run_tells_what_later_ones_may_share(tmp_path: Path, conftest: str, told: bool) -> None:
    """Nothing where variables are set first: the same import might then do something else."""
    project = made(tmp_path, test=LOADED)
    project.write("conftest.py", conftest)
    report = project.test("tests", sources=("",), learn=True)
    assert ("wave" in report.installed) is told


def test_a_plugin_of_the_project_named_in_its_configuration_is_loaded_by_each_run(tmp_path: Path) -> None:
    """Also where it holds the assertion that is changed."""
    project = made(tmp_path, test="from tests.checks import check\ndef test_x(): check(4)\n")
    project.write("pytest.ini", "[pytest]\naddopts = -p tests.checks\npythonpath = .\n")
    project.write("tests/__init__.py", "")
    project.write("tests/checks.py", "from calc import twice\ndef check(n):\n    assert twice(2) == n\n")
    live = judged(project, "tests/test_calc.py::test_x")[1]
    assert (live.unlike, live.hollow, live.unreached) == ((), {}, {})
    project.write("calc.py", ANY)
    assert len(judged(project, "tests/test_calc.py::test_x")[1].hollow) == 1


def runs_of(*texts: str, path: str = "tests/test_calc.py", **options: Any) -> RequestedRuns:
    return RequestedRuns(tuple({path: text} for text in texts), **options)


def test_an_old_byte_code_is_never_taken_for_another_run(tmp_path: Path) -> None:
    """Same size, same time: nothing tells them apart."""
    test_id = "tests/test_calc.py::test_x"
    project = made(tmp_path, test="from helper import N\ndef test_x(): assert N == 1\n")
    project.write("tests/helper.py", "N = 1\n")
    for _ in range(2):
        tries = runs_of("N = 2\n", "N = 1\n", "N = 3\n", path="tests/helper.py")
        env = {"PYTHONDONTWRITEBYTECODE": ""}
        report = project.test("tests", runs=tries, disposable=True, env=env)
        assert [outcome.outcomes[test_id] for outcome in report.variants] == ["failed", "passed", "failed"]
        project.test("tests", env=env)
    assert [*project.root.rglob("helper.*.pyc")]


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    project = made(tmp_path)
    file = project.root / "tests/test_calc.py"
    text = b"# coding: latin-1\r\nX = '\xe9'\r\ndef test_x():\r\n    assert len(X) == 1\r\n"
    file.write_bytes(text)
    test_id = "tests/test_calc.py::test_x"
    tries = plan({"tests/test_calc.py": text.decode("latin-1")}, [test_id], Random(1))
    report = project.test(test_id, runs=asked(tries), disposable=True)
    live = judge_runs(tries, report.variants, [test_id])
    assert (set(live.seen), live.unlike, live.hollow) == ({test_id}, (), {})
    assert file.read_bytes() == text


def test_what_was_not_reached_is_said(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    texts = {
        "def test_x(): import os; os._exit(0)\n": "the run ended early",
        "def test_x(: pass\n": "tests/test_calc.py cannot be collected: SyntaxError",
        "def test_y(): pass\n": "",
        "import pytest\n@pytest.fixture\ndef f(): 1/0\ndef test_x(f): pass\n": "",
    }
    report = project.test("tests/test_calc.py::test_x", runs=runs_of(*texts), disposable=True)
    assert [outcome.why for outcome in report.variants] == list(texts.values())
    outcomes = [dict(outcome.outcomes) for outcome in report.variants]
    assert outcomes == [{}, {}, {}, {"tests/test_calc.py::test_x": "skipped"}]
    assert (project.root / "tests/test_calc.py").read_text() == "def test_x(): pass\n"


@pytest.mark.parametrize(("limits", "whys"), [({"seconds": 1}, 2), ({"seconds": 60, "each": 3}, 1)])
def test_time_is_limited(tmp_path: Path, limits: dict[str, Any], whys: int) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    endless = "def test_x(): import time; time.sleep(600)\n"
    report = project.test("tests", runs=runs_of(endless, "def test_x(): 1\n", **limits), disposable=True)
    assert [outcome.why for outcome in report.variants].count("no time was left") == whys
    assert report.ended is RunEnd.FINISHED
    assert (project.root / "tests/test_calc.py").read_text() == "def test_x(): pass\n"


def test_nothing_is_written_where_the_tree_is_not_disposable(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): open('../seen', 'a').write('x')\n")
    report = project.test("tests", runs=runs_of(""))
    assert [outcome.why for outcome in report.variants] == ["the tree is not disposable"]
    assert not (project.root.parent / "seen").exists()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x(): pass\n")
    report = project.test("tests", runs=runs_of("", path="tests/no/test_no.py"), disposable=True)
    assert report.variants[0].why.startswith("tests/no/test_no.py cannot be changed: ")


def test_a_module_that_hides_one_of_pytests_is_loaded_in_the_runs_alone(tmp_path: Path) -> None:
    project = made(tmp_path, test="def test_x():\n    assert 1 == 1\n")
    project.write("colorsys.py", "import os\nopen('../seen', 'a').write(f'{os.getpid()} ')\n")
    project.write("conftest.py", "import colorsys\n")
    report, live = judged(project, "tests/test_calc.py::test_x")
    assert live.seen
    assert len({*(project.root.parent / "seen").read_text().split()}) == len(report.variants)


def test_lines_are_traced_in_a_run_of_their_own(tmp_path: Path) -> None:
    project = made(
        tmp_path,
        "import sys\ndef twice(n):\n    print(sys.gettrace(), file=open('../seen', 'a'))\n    return 2 * n\n",
    )
    tries = made_runs(project, IDS[0])
    report = project.test(IDS[0], runs=asked(tries), trace=["calc.py"], disposable=True)
    assert {3, 4} <= report.lines["calc.py"]
    assert judge_runs(tries, report.variants, [IDS[0]]).unlike == ()


def test_the_channel_cannot_be_written_by_a_run(tmp_path: Path) -> None:
    """Neither by the reporter's own object, nor by what it finds open."""
    source = """
        import os
        from verdigris_reporter.channel import CHANNEL
        def twice(n):
            forged = {"kind": "variant", "index": 7, "why": "", "outcomes": {}, "places": {}}
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
    text = "from calc import twice\ndef test_plain(): assert twice(2) == 5\n"
    report = project.test(IDS[0], runs=runs_of(text), disposable=True)
    assert report.strays == 0
    assert [(v.index, dict(v.outcomes)) for v in report.variants] == [(0, {IDS[0]: "failed"})]


def test_a_variant_that_is_reported_twice_says_nothing() -> None:
    told = {
        "kind": "variant",
        "index": 0,
        "outcomes": {"t": "failed"},
        "places": {},
        "messages": {},
        "why": "",
    }
    line = f"n {json.dumps(told)}".encode()

    def read(*lines: bytes) -> TestReport:
        call = RunnerCall(("py",), "/w", "c", channel=ReportChannel("V", b"", "n"))
        return parse(RunnerAnswer(call, 0, timed_out=False, duration_ms=1, output=b"", lines=lines))

    assert read(line).variants[0].outcomes == {"t": "failed"}
    twice = read(line, line)
    assert (twice.strays, twice.variants[0].why) == (1, "it was reported twice")
    assert twice.variants[0].outcomes == {}


def test_the_greeting_holds_texts_behind_the_settings_only(tmp_path: Path) -> None:
    def parts(**options: Any) -> tuple[dict[str, Any], bytes]:
        request = TestRequest(("api/t.py",), "/w", "api", nonce="n", **options)
        hello = channel_of(PythonRunner(PYTEST, "py"), request).hello
        size = int(hello[:8], 16)
        return json.loads(hello[8 : 8 + size]), hello[8 + size :]

    settings, rest = parts()
    assert ({*settings}, rest) == ({"nonce", "argv", "worktree", "select", "trace"}, b"")
    settings, rest = parts(runs=runs_of("x", "y", path="api/t.py", seconds=2.5), private=())
    assert settings["runs"] == {
        "seconds": 2.5,
        "each": 60,
        "bare": False,
        "until_failure": False,
        "preload": [],
        "watched": ["api/t.py"],
        "disposable": True,
        "private": [],
    }
    assert json.loads(rest) == [[{"api/t.py": "x"}, ["api/t.py"]], [{"api/t.py": "y"}, ["api/t.py"]]]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_variants_in_another_python(tmp_path: Path, version: str) -> None:
    python = other_python(version)
    report, live = judged(made(tmp_path / "honest", python=python))
    assert (report.ended, live.hollow, live.unlike) == (RunEnd.FINISHED, {}, ())
    assert len(judged(made(tmp_path / "deaf", ANY, python=python))[1].hollow) >= 3
