from __future__ import annotations

import json
import os
import subprocess
import venv
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from support.alive import decoded, plan
from support.gitrepo import make_repo
from support.interpreters import other_python
from support.pages import lay_out, project_files
from support.pyproject import PyProject, channel_of
from support.turns import World
from verdigris.checks.liveness.judgement import judge_runs
from verdigris.core.records import Actor
from verdigris.core.report import RunEnd, Status, TestReport, TestResult
from verdigris.runners.protocol import RequestedRuns, TestRequest
from verdigris.runners.python import PYTEST, UNITTEST, PythonRunner
from verdigris.setup.initialisation import initialise

CASES = """
import unittest
{more}
class T(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): pass
"""


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    return PyProject(tmp_path / "a project", tool=UNITTEST)


def outline(report: TestReport) -> dict[str, str]:
    return {r.id.partition("::")[2]: str(r.status) for r in report.results}


def test_what_is_asked_for_goes_behind_the_users_options() -> None:
    names = ("api/t/test_a.py::T::test_x", "api/t/test_a.py::T::test_y", "lib/test_b.py")
    request = TestRequest(names, "/w", "api", nonce="n", extra=("-b",), collect_only=True)
    runner = PythonRunner(UNITTEST, "py")
    [made] = runner.commands(request)
    channel = channel_of(runner, request)
    assert made.argv[2:] == ("unittest",)
    arguments = ["-b", "--collect-only", "--", "t/test_a.py", "../lib/test_b.py"]
    assert json.loads(channel.hello[8:])["argv"] == arguments
    assert (
        made.command == "python -m unittest -b t/test_a.py::T::test_x t/test_a.py::T::test_y ../lib/test_b.py"
    )
    assert json.loads(channel.hello[8:])["select"][2] == "lib/test_b.py"


def told(result: TestResult) -> object:
    """All but what depends on the tool: its own frames above the project's, its words for a skip."""
    failure = result.failure
    if failure is not None:
        first = next((n for n, place in enumerate(failure.frames) if not place.path.startswith("/")), 0)
        failure = replace(failure, frames=failure.frames[first:], message=failure.message.partition("\n")[0])
        if failure.message.startswith("assert "):
            failure = replace(failure, message="assert")
    note = "skip" if result.status is Status.SKIP and result.note != "xfail" else result.note
    return replace(result, failure=failure, duration_ms=0, note=note, output="")


def test_it_tells_what_the_pytest_reporter_tells(project: PyProject) -> None:
    lay_out(project_files("unittest_outcomes"), project.root)
    report = project.test()
    other = replace(project, tool=PYTEST).test()
    assert report.ended is other.ended is RunEnd.FINISHED
    assert sorted(report.collected) == sorted(other.collected)
    mine, theirs = ({r.id: told(r) for r in one.results} for one in (report, other))
    for test_id, result in theirs.items():
        assert mine[test_id] == result, test_id
    assert mine.keys() == theirs.keys()


def test_what_pytest_does_not_tell_apart(project: PyProject) -> None:
    project.write(
        "test_a.py",
        """
        import unittest
        class T(unittest.TestCase):
            @unittest.expectedFailure
            def test_unexpected(self): pass
            def test_cleanup(self): self.addCleanup(lambda: 1 / 0)
            def test_plain(self):
                print("seen")
                assert 1 == 2
            def test_skipped_in_part(self):
                with self.subTest(n=1): self.skipTest("x")
            def run_it(self): pass
            def test_subtests(self):
                for n in (1, 2):
                    with self.subTest(n=n): self.assertEqual(n, 0)
        """,
    )
    results = {r.id.rpartition("::")[2]: r for r in project.test().results}
    assert (results["test_unexpected"].status, results["test_unexpected"].note) == (Status.FAIL, "xpass")
    assert (results["test_cleanup"].status, results["test_cleanup"].phase) == (Status.ERROR, "teardown")
    plain = results["test_plain"]
    assert plain.failure is not None
    assert (plain.failure.message, plain.output) == ("assert 1 == 2", "seen\n")
    assert results["test_skipped_in_part"].status is Status.SKIP
    assert results["test_subtests"].output == "(n=1) AssertionError: 1 != 0\n(n=2) AssertionError: 2 != 0\n"


def test_everything_is_found_once_and_under_the_name_it_is_imported_by(project: PyProject) -> None:
    test = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): print(__name__); assert 0\n"
    names = {
        "test_root.py": "test_root",
        "package/test_inner.py": "package.test_inner",
        "tests/test_plain.py": "test_plain",
        "tests/unit/test_deep.py": "test_deep",
        "tests/whole/test_whole.py": "whole.test_whole",
        "src/lib/tests/test_source.py": "lib.tests.test_source",
    }
    for path in names:
        project.write(path, test)
    for path in ("package/__init__.py", "tests/whole/__init__.py", "src/lib/__init__.py"):
        project.write(path, "")
    project.write("src/lib/tests/__init__.py", "")
    for path in ("src/lib/testing.py", "build/test_x.py", "env/pyvenv.cfg", "env/test_y.py", ".h/test_z.py"):
        project.write(path, "raise SystemExit")
    report = project.test()
    assert (report.ended, report.errors) == (RunEnd.FINISHED, ())
    assert {r.id.partition("::")[0]: r.output.strip() for r in report.results} == names
    below = project.test("tests/unit", "package")
    assert sorted(below.collected) == [
        "package/test_inner.py::T::test_a",
        "tests/unit/test_deep.py::T::test_a",
    ]


def test_discovery_as_the_user_asks_for_it(project: PyProject) -> None:
    project.write("tests/__init__.py", "")
    project.write("tests/helpers.py", "ONE = 1")
    project.write("tests/test_not.py", "raise SystemExit")
    test = (
        "import unittest\nfrom helpers import ONE\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
    )
    project.write("tests/calc_check.py", test)
    for extra in (["discover", "-s", "tests", "-p", "*_check.py"], ["discover", "tests", "*_check.py"]):
        assert outline(project.test(extra=extra)) == {"T::test_a": "pass"}
    named = project.test("tests/calc_check.py::T::test_a", extra=["-s", "tests", "-f", "-v"])
    assert outline(named) == {"T::test_a": "pass"}
    wrong = project.test(extra=["--no-such-option"])
    assert wrong.ended is RunEnd.NO_START
    assert "--no-such-option" in wrong.tail


def test_ids_select_exactly_the_named_tests(project: PyProject) -> None:
    body = "import unittest\nclass T(unittest.TestCase): pass\n"
    odd = [
        "test_x",
        "test_x2",
        "test_a b",
        "test_'\"",
        "test_a/b",
        "test_a::b",
        "test_ü",
        "test_$[1]",
        "test_\\n",
    ]
    for name in odd:
        body += f"setattr(T, {name!r}, lambda self: None)\n"
    project.write("tests/test_odd.py", body)
    ids = [f"tests/test_odd.py::T::{name}" for name in odd]
    assert sorted(project.test().collected) == sorted(ids)
    for chosen in (ids[:1], ids[2:4], ids[4:7]):
        report = project.test(*chosen)
        assert sorted(r.id for r in report.results) == sorted(chosen)
        assert len(report.others) == len(ids) - len(chosen)
    missing = project.test("tests/test_odd.py::T::nothing", "tests/gone.py::T::test_x")
    assert (missing.ended, missing.collected) == (RunEnd.FINISHED, ())


def test_names_of_files(project: PyProject) -> None:
    odd = ["d[1]/test_a.py", "e::f/test_b.py", "test_ü.py", "-x/test_c.py", "q'\" /test_e.py", "test-dash.py"]
    for path in odd:
        project.write(path, "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass")
    ids = [f"{path}::T::test_x" for path in odd]
    report = project.test(*ids)
    assert sorted(report.collected) == sorted(ids), report.tail


def test_tests_of_one_name_are_numbered(project: PyProject) -> None:
    project.write(
        "test_a.py",
        """
        import unittest
        def make(expected):
            class Made(unittest.TestCase):
                def test_a(self): self.assertEqual(expected, 1)
            return Made
        One, Two = make(1), make(2)
        class P(unittest.TestCase):
            def __init__(self, name, n=0): super().__init__(name); self.n = n
            def test_n(self): self.assertEqual(self.n, 1)
        def load_tests(loader, tests, pattern):
            return unittest.TestSuite([tests, P("test_n", 1), P("test_n", 2)])
        """,
    )
    report = project.test()
    seen = {"One::test_a": "pass", "P::test_n": "fail", "Two::test_a": "fail"}
    assert outline(report) == {**seen, "P::test_n[2]": "pass", "P::test_n[3]": "fail"}
    assert set(outline(project.test("test_a.py::P::test_n"))) == {"P::test_n", "P::test_n[2]", "P::test_n[3]"}
    assert outline(project.test("test_a.py::P::test_n[2]")) == {"P::test_n[2]": "pass"}


def test_a_package_that_loads_its_own_tests(project: PyProject) -> None:
    project.write(
        "tests/__init__.py",
        """
        import os, unittest
        def load_tests(loader, tests, pattern):
            return loader.discover(os.path.dirname(__file__), "check_*.py")
        """,
    )
    project.write("tests/test_never.py", "raise SystemExit")
    for name in ("check_a", "check_b"):
        project.write(f"tests/{name}.py", CASES.format(more=""))
    whole = project.test()
    assert whole.errors == ()
    assert [i for i in whole.collected if i.endswith("test_a")] == [
        "tests/check_a.py::T::test_a",
        "tests/check_b.py::T::test_a",
    ]
    assert project.test("tests/check_b.py::T::test_b").collected == ("tests/check_b.py::T::test_b",)


def test_doctests_and_functions(project: PyProject) -> None:
    project.write(
        "test_d.py",
        '''
        """
        >>> 1 + 1
        3
        """
        import doctest, sys, unittest
        def check_it(): assert True
        def load_tests(loader, tests, pattern):
            tests.addTests(doctest.DocTestSuite(sys.modules[__name__]))
            tests.addTest(unittest.FunctionTestCase(check_it))
            return tests
        ''',
    )
    report = project.test()
    assert outline(report) == {"test_d": "fail", "check_it": "pass"}
    failure = report.results[0].failure
    assert failure is not None
    assert failure.assertion


def test_files_that_cannot_be_loaded(project: PyProject) -> None:
    project.write("test_syntax.py", "def f(:\n")
    project.write("test_import.py", "import no_such_module\n")
    project.write("test_exit.py", "raise SystemExit(0)\n")
    project.write("test_load.py", CASES.format(more="def load_tests(*a): raise KeyError('x')"))
    project.write("test_skip.py", CASES.format(more="raise unittest.SkipTest('not here')"))
    project.write("a/test_same.py", CASES.format(more=""))
    project.write("b/test_same.py", CASES.format(more=""))
    report = project.test()
    assert report.ended is RunEnd.FINISHED
    assert {error.path: error.kind for error in report.errors} == {
        "test_syntax.py": "SyntaxError",
        "test_import.py": "ModuleNotFoundError",
        "test_exit.py": "SystemExit",
        "test_load.py": "KeyError",
        "b/test_same.py": "ImportError",
    }
    assert {r.id for r in report.results} == {"a/test_same.py::T::test_a", "a/test_same.py::T::test_b"}


@pytest.mark.parametrize(
    ("place", "line", "ended"),
    [
        ("test", "os._exit(0)", RunEnd.EARLY_EXIT),
        ("test", "os._exit(7)", RunEnd.EARLY_EXIT),
        ("test", "os.kill(os.getpid(), 9)", RunEnd.DIED),
        ("test", "raise KeyboardInterrupt", RunEnd.EARLY_EXIT),
        ("class", "os._exit(0)", RunEnd.EARLY_EXIT),
        ("module", "os._exit(0)", RunEnd.EARLY_EXIT),
    ],
)
def test_the_running_test_is_to_blame(project: PyProject, place: str, line: str, ended: RunEnd) -> None:
    at = {"test": "pass", "class": "pass", "module": "pass", place: line}
    first = "import unittest\nclass A(unittest.TestCase):\n    def test_first(self): pass\n"
    second = f"""
        import os, unittest
        def setUpModule(): {at["module"]}
        class B(unittest.TestCase):
            @classmethod
            def setUpClass(cls): {at["class"]}
            def test_bad(self): {at["test"]}
            def test_last(self): pass
    """
    project.write("test_1.py", first)
    project.write("test_2.py", second)
    report = project.test()
    assert report.ended is ended
    assert outline(report) == {"A::test_first": "pass", "B::test_bad": "error"}


def test_a_hang_and_a_flood(project: PyProject) -> None:
    flood = "import unittest, time\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    flood += "        for _ in range(2000): print('x' * 10_000)\n        assert 0\n"
    project.write("test_a.py", flood + "    def test_b(self): time.sleep(60)\n")
    report = project.test(timeout=4)
    assert report.ended is RunEnd.TIMEOUT
    assert outline(report) == {"T::test_a": "fail", "T::test_b": "error"}
    assert 0 < len(report.results[0].output) < 20_000


def test_tracing_collecting_and_sources(project: PyProject) -> None:
    project.write("calc.py", "def add(a, b):\n    return a + b\ndef sub(a, b):\n    return a - b\n")
    test = "import unittest, calc\nclass T(unittest.TestCase):\n    def test_a(self): calc.add(1, 2)\n"
    project.write("tests/test_a.py", test)
    listed = project.test(collect_only=True)
    assert (listed.ended, listed.collected, listed.results) == (
        RunEnd.FINISHED,
        ("tests/test_a.py::T::test_a",),
        (),
    )
    report = project.test(trace=["calc.py"], sources=[""])
    assert report.lines["calc.py"] >= {2}
    assert 4 not in report.lines["calc.py"]
    assert report.loaded == ("calc.py", "tests/test_a.py")


def test_lines_are_seen_after_a_test_that_recurses_too_deeply(project: PyProject) -> None:
    project.write("calc.py", "def f():\n    return 1\ndef deep():\n    return deep()\n")
    test = (
        "import unittest, calc\n"
        "class T(unittest.TestCase):\n"
        "    def test_a(self): self.assertRaises(RecursionError, calc.deep)\n"
        "    def test_b(self): calc.f()\n"
    )
    project.write("tests/test_a.py", test)
    assert project.test(trace=["calc.py"]).lines == {"calc.py": frozenset({1, 2, 3, 4})}


@pytest.mark.parametrize(("body", "hollow"), [("return a - b", 0), ("return Same()", 1)])
def test_assertions_are_tried(project: PyProject, body: str, hollow: int) -> None:
    same = "class Same:\n    def __eq__(self, other): return True\n    __hash__ = None\n"
    project.write("calc.py", f"{same}def sub(a, b):\n    {body}\n")
    test = "import unittest\nimport calc\n\nclass T(unittest.TestCase):\n    def test_sub(self):\n"
    test += "        self.assertEqual(calc.sub(5, 3), 2)\n"
    project.write("tests/test_a.py", test)
    asked = ["tests/test_a.py::T::test_sub"]
    made = plan({"tests/test_a.py": test}, asked, Random(1))
    texts = decoded(made)
    report = project.test("tests/test_a.py", runs=RequestedRuns(texts), trace=["calc.py"], disposable=True)
    live = judge_runs(made, report.variants, asked)
    assert (len(live.hollow), live.unreached, live.unlike, live.away) == (hollow, {}, (), {})
    assert bool(live.seen) is not bool(hollow)
    assert report.lines["calc.py"]


def test_changed_texts_share_what_was_loaded_of_the_environment(project: PyProject) -> None:
    """They branch off from one process that has loaded it, as pytest's do."""
    project.write("calc.py", "def sub(a, b):\n    return a - b\n")
    test = "import sys\nEARLY = 'wave' in sys.modules\nimport unittest, calc\n\nclass T(unittest.TestCase):\n"
    test += "    def test_sub(self):\n"
    test += "        with open('../seen', 'a') as seen:\n            print(EARLY, file=seen)\n"
    test += "        self.assertEqual(calc.sub(5, 3), 2)\n"
    project.write("tests/test_a.py", test)
    made = plan({"tests/test_a.py": test}, ["tests/test_a.py::T::test_sub"], Random(1))
    runs = RequestedRuns(decoded(made), preload=("wave",))
    project.test("tests/test_a.py", runs=runs, disposable=True)
    assert set((project.root.parent / "seen").read_text().split()) == {"True"}


def test_it_is_as_python_m_unittest_and_loads_no_pytest(project: PyProject) -> None:
    project.write(
        "tests/test_a.py",
        """
        import __main__, json, os, sys, unittest, warnings
        class T(unittest.TestCase):
            def test_seen(self):
                seen = [__main__.__spec__.name, sys.argv[0], os.getcwd(), "pytest" in sys.modules,
                        [p for p in sys.path if "reporter" not in p], warnings.filters[0][0]]
                open(os.environ["SEEN"], "w").write(json.dumps(seen))
        """,
    )
    seen = project.root / "seen"
    ours = project.test(env={"SEEN": str(seen)}, cold=True)
    assert outline(ours) == {"T::test_seen": "pass"}, ours.tail
    first = seen.read_text()
    subprocess.run(
        [project.python, "-m", "unittest", "discover", "-s", "tests"],
        cwd=project.root,
        env={**os.environ, "SEEN": str(seen)},
        check=True,
        capture_output=True,
    )
    assert json.loads(first) == json.loads(seen.read_text())


CALC_TEST = """\
import unittest
import calc


class CalcTest(unittest.TestCase):
    def test_{name}(self):
        self.assertEqual(calc.{name}(5, 3), {result})
"""


def test_whole_rounds_in_an_environment_without_pytest(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "calc")
    venv.create(repo.root / ".venv", symlinks=True)
    repo.write(".gitignore", ".venv\n__pycache__\n")
    repo.write("tdd.yaml", "stacks:\n  - {root: ., language: python, runner: unittest}\n")
    repo.write("calc.py", "def add(a, b):\n    return a + b\n")
    repo.write("tests/test_add.py", CALC_TEST.format(name="add", result=8))
    repo.commit("a calculator")
    initialise(repo.root, Actor(client="test"))
    world = World(repo)
    for name, result, body, verdict in (
        ("sub", 2, "return a - b", "accepted"),
        ("mul", 15, "return type('Same', (), {'__eq__': lambda *_: True})()", "hollow"),
    ):
        test_id = f"tests/test_{name}.py::CalcTest::test_{name}"
        world.write(f"tests/test_{name}.py", CALC_TEST.format(name=name, result=result))
        world.claimed(test_id)
        world.write("calc.py", world.read("calc.py") + f"\n\ndef {name}(a, b):\n    {body}\n")
        done = world.settle()
        assert done.verdict.kind == verdict, done


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13", "3.14"])
def test_every_python_tells_the_same(project: PyProject, version: str) -> None:
    python = other_python(version, probe="")
    lay_out(project_files("unittest_outcomes"), project.root)
    mine = {r.id: told(r) for r in project.test().results}
    other = replace(project, python=python).test()
    assert other.ended is RunEnd.FINISHED, other.tail
    for result in other.results:
        seen, expected = told(result), mine[result.id]
        assert (seen.status, seen.phase, seen.line) == (expected.status, expected.phase, expected.line), seen  # type: ignore[attr-defined]
