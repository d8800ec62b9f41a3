"""What a run tells of the functions that each test ran, and of what it looked at besides."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from support.pyproject import PyProject
from verdigris.runners.python import UNITTEST

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.report import RunUses


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    made = PyProject(tmp_path)
    made.write("calc.py", "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")
    return made


def run(project: PyProject, test: str) -> RunUses:
    project.write("test_it.py", test)
    _, report = project.execute(uses=True)
    assert report.uses is not None
    assert not report.strays
    return report.uses


def functions(uses: RunUses, test: str) -> set[tuple[str, int]]:
    return {uses.places[number] for number in uses.sets[uses.tests[f"test_it.py::{test}"].functions]}


def test_each_test_is_told_with_the_functions_that_it_ran(project: PyProject) -> None:
    uses = run(
        project,
        """\
        from calc import add, sub

        def test_add():
            assert add(1, 2) == 3

        def test_sub():
            assert [sub(n, 1) for n in (1, 2)] == [0, 1]
        """,
    )
    assert functions(uses, "test_add") >= {("calc.py", 1), ("test_it.py", 3)}
    assert ("calc.py", 5) not in functions(uses, "test_add")
    assert ("calc.py", 5) in functions(uses, "test_sub")
    assert {"calc.py", "test_it.py"} <= set(uses.files)
    assert uses.problem == ""


def test_what_a_shared_fixture_runs_is_told_of_the_file_and_what_runs_at_import_of_all(
    project: PyProject,
) -> None:
    uses = run(
        project,
        """\
        import pytest
        from calc import add, sub

        AT_IMPORT = sub(2, 1)

        @pytest.fixture(scope="module")
        def three():
            return add(1, 2)

        def test_three(three):
            assert three == 3
        """,
    )
    common = {path: {uses.places[n] for n in uses.sets[number]} for path, number in uses.common.items()}
    assert ("calc.py", 5) in common[""]
    assert ("calc.py", 1) in common["test_it.py"]
    assert ("calc.py", 1) not in functions(uses, "test_three")


def test_a_shared_fixture_that_is_made_while_another_function_runs_is_told_apart(project: PyProject) -> None:
    uses = run(
        project,
        """\
        import pytest
        from calc import add, sub

        @pytest.fixture(scope="module")
        def shared():
            return add(1, 2)

        @pytest.fixture
        def own(request):
            return request.getfixturevalue("shared") - sub(2, 1)

        def test_own(own):
            assert own == 2
        """,
    )
    common = {uses.places[n] for n in uses.sets[uses.common["test_it.py"]]}
    assert functions(uses, "test_own") == {("calc.py", 5), ("test_it.py", 8), ("test_it.py", 12)}
    assert common == {("calc.py", 1), ("test_it.py", 4)}


def test_what_a_thread_of_an_earlier_test_runs_is_told_of_the_test_that_it_runs_for(
    project: PyProject,
) -> None:
    uses = run(
        project,
        """\
        import queue, threading
        from calc import add

        asked, told = queue.Queue(), queue.Queue()

        def work():
            while True:
                told.put(add(asked.get(), 1))

        def test_starts():
            threading.Thread(target=work, daemon=True).start()

        def test_asks():
            asked.put(1)
            assert told.get(timeout=5) == 2
        """,
    )
    assert uses.tests["test_it.py::test_starts"].unsure
    assert ("calc.py", 1) in functions(uses, "test_asks")


def test_a_generator_that_another_test_began_is_told_when_it_goes_on(project: PyProject) -> None:
    project.write("calc.py", "def count():\n    yield 1\n    yield 2\n")
    uses = run(
        project,
        """\
        from calc import count

        numbers = count()

        def test_first():
            assert next(numbers) == 1

        def test_second():
            assert next(numbers) == 2
        """,
    )
    assert ("calc.py", 1) in functions(uses, "test_first")
    assert ("calc.py", 1) in functions(uses, "test_second")


def test_who_takes_from_a_memory_is_told_with_who_filled_it(project: PyProject) -> None:
    project.write("calc.py", "from functools import lru_cache\n\n@lru_cache\ndef f(n):\n    return n\n")
    uses = run(
        project,
        """\
        from calc import f

        def test_fills():
            assert f(1) == 1

        def test_hits():
            assert f(1) == 1
        """,
    )
    filled, hit = (uses.tests[f"test_it.py::test_{name}"] for name in ("fills", "hits"))
    assert (filled.hits, len(filled.fills)) == ((), 1)
    assert (hit.hits, hit.fills) == (filled.fills, ())


@pytest.mark.parametrize(
    "work",
    [
        "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])",
        "import threading; t = threading.Thread(target=print); t.start(); t.join()",
        "import threading, time; threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()",
        "import sys; sys.settrace(None)",
        "import sys; sys.setprofile(None)",
        "import os; os.fork() or os._exit(0)",
    ],
)
def test_a_test_that_does_what_is_not_seen_is_unsure(project: PyProject, work: str) -> None:
    if sys.version_info >= (3, 12) and ("join" in work or "sys.set" in work):
        pytest.skip("this Python hears of every thread, and no tracer is in its way")
    uses = run(
        project,
        f"def test_odd():\n    {work}\n\n\ndef test_plain():\n    pass\n",
    )
    assert uses.tests["test_it.py::test_odd"].unsure
    assert not uses.tests["test_it.py::test_plain"].unsure


def test_an_example_is_told_with_the_functions_that_it_ran(project: PyProject) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = --doctest-modules\n")
    project.write(
        "more.py",
        'from calc import add\n\n\ndef two():\n    """\n    >>> two()\n    2\n    """\n    return add(1, 1)',
    )
    uses = run(project, "def test_plain():\n    pass\n")
    found = uses.tests["more.py::more.two"]
    assert not found.unsure
    assert {uses.places[number] for number in uses.sets[found.functions]} == {("calc.py", 1), ("more.py", 4)}


def test_a_test_that_puts_a_profiler_aside_and_back_passes(project: PyProject) -> None:
    """As pytest-benchmark does around what it measures."""
    project.write(
        "test_it.py",
        """\
        import sys
        from calc import add, sub

        def test_apart():
            there = sys.getprofile()
            sys.setprofile(None)
            add(1, 2)
            sys.setprofile(there)
            assert sub(3, 2) == 1

        def test_after():
            assert sub(3, 2) == 1
        """,
    )
    _, report = project.execute(uses=True)
    assert [result.status for result in report.results] == ["pass", "pass"]
    assert report.uses is not None
    assert ("calc.py", 5) in functions(report.uses, "test_after")


def test_files_that_are_read_and_folders_that_are_listed_are_told(project: PyProject) -> None:
    project.write("data/one.txt", "1")
    uses = run(
        project,
        """\
        import calc, inspect, os

        def test_reads():
            assert open("data/one.txt").read() == "1"
            assert os.listdir("data") == ["one.txt"]
            assert "def add" in inspect.getsource(calc.add)
        """,
    )
    assert uses.read == ("calc.py", "data/one.txt")
    assert uses.listed == ("data/",)
    assert "test_it.py" in uses.known


def test_an_order_by_chance_is_a_problem(project: PyProject) -> None:
    project.write(
        "conftest.py",
        "def pytest_configure(config):\n    config.pluginmanager.register(object(), 'randomly')\n",
    )
    assert run(project, "def test_it():\n    pass\n").problem


def test_a_run_that_traces_lines_tells_the_same(project: PyProject) -> None:
    project.write("test_it.py", "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n")
    _, report = project.execute(uses=True, trace=["calc.py"])
    assert report.uses is not None
    assert (report.uses.problem, report.lines["calc.py"] >= {1, 2}) == ("", True)
    assert ("calc.py", 1) in functions(report.uses, "test_add")


def test_a_tracer_that_is_renewed_after_a_test_makes_no_other_test_unsure(project: PyProject) -> None:
    test = "import sys\nfrom calc import add\ndef test_off():\n    sys.settrace(None)\n"
    project.write("test_it.py", f"{test}def test_add():\n    assert add(1, 2) == 3\n")
    _, report = project.execute(uses=True, trace=["calc.py"])
    assert report.uses is not None
    assert (report.uses.problem, report.lines["calc.py"] >= {1, 2}) == ("", True)
    assert not report.uses.tests["test_it.py::test_add"].unsure


def test_unittest_tells_the_same(tmp_path: Path) -> None:
    project = PyProject(tmp_path, tool=UNITTEST)
    project.write("calc.py", "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")
    uses = run(
        project,
        """\
        import unittest
        from calc import add, sub

        class TestCalc(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                cls.three = add(1, 2)

            def test_add(self):
                self.assertEqual(self.three, 3)

            def test_sub(self):
                self.assertEqual(sub(3, 1), 2)
        """,
    )
    assert ("calc.py", 1) in {uses.places[n] for n in uses.sets[uses.common[""]]}
    assert functions(uses, "TestCalc::test_add") == {("test_it.py", 9)}
    assert functions(uses, "TestCalc::test_sub") == {("calc.py", 5), ("test_it.py", 12)}
    assert (uses.read, uses.listed, uses.problem) == ((), (), "")


@pytest.mark.parametrize("name", ["python3.13", "python3.12"])
def test_newer_interpreters_tell_the_same(project: PyProject, name: str) -> None:
    python = shutil.which(name)
    if python is None:
        pytest.skip(f"no {name} here")
    other = PyProject(project.root, python)
    project.write("test_it.py", "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n")
    _, report = other.execute(uses=True, env={"PYTHONPATH": _packages()})
    if report.uses is None:
        pytest.skip(f"{name} cannot load our pytest")
    assert functions(report.uses, "test_add") >= {("calc.py", 1), ("test_it.py", 3)}


def _packages() -> str:
    from pathlib import Path

    return str(Path(pytest.__file__).parent.parent)


def test_of_traced_files_a_run_tells_which_tests_call_their_functions(project: PyProject) -> None:
    project.write("other.py", "def far():\n    return 1\n")
    project.write(
        "test_it.py",
        """\
        import threading
        import pytest
        import other
        from calc import add, sub

        @pytest.fixture
        def three():
            yield add(1, 2)
            sub(1, 1)

        def test_fixture(three):
            assert three == 3

        def test_thread():
            thread = threading.Thread(target=sub, args=(2, 1))
            thread.start()
            thread.join()

        def test_far():
            assert other.far() == 1
        """,
    )
    _, report = project.execute(trace=["calc.py"])
    assert report.uses is not None
    assert {path for path, _ in report.uses.places} == {"calc.py"}
    assert functions(report.uses, "test_fixture") == {("calc.py", 1), ("calc.py", 5)}
    assert ("calc.py", 5) in functions(report.uses, "test_thread")
    assert functions(report.uses, "test_far") == set()
    assert report.uses.tests["test_it.py::test_far"].unsure is False


def test_code_that_hooks_and_case_ids_run_is_traced_and_told_of_all_tests(project: PyProject) -> None:
    project.write(
        "conftest.py",
        "import calc\n\ndef pytest_collection_modifyitems():\n    calc.sub(0, 1)\n",
    )
    project.write(
        "test_it.py",
        """\
        import pytest
        from calc import add

        @pytest.mark.parametrize("number", [1, 2], ids=lambda number: str(add(number, 1)))
        def test_it(number):
            assert number
        """,
    )
    _, report = project.execute(trace=["calc.py"])
    assert report.uses is not None
    assert (report.lines, report.cut) == ({"calc.py": frozenset({1, 2, 5, 6})}, False)
    common = {report.uses.places[n] for n in report.uses.sets[report.uses.common[""]]}
    assert common == {("calc.py", 1), ("calc.py", 5)}
