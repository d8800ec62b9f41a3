from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.pyproject import NONCE, PyProject, channel_of
from verdigris.core.report import RunEnd, Status
from verdigris.execution import process
from verdigris.runners.protocol import TestRequest
from verdigris.runners.python import PYTEST, PythonRunner

RUNNER = PythonRunner(PYTEST, "py")


def asked(*selection: str, stack_root: str = ".") -> TestRequest:
    return TestRequest(selection, "/w", stack_root, nonce="n")


def paths(request: TestRequest) -> tuple[str, ...]:
    arguments = tuple(json.loads(channel_of(RUNNER, request).hello[8:])["argv"])
    return arguments[arguments.index("--continue-on-collection-errors") + 1 :]


@pytest.fixture
def project(tmp_path: Path) -> PyProject:
    return PyProject(tmp_path / "a project")


def test_a_project_without_the_cache_plugin_runs_under_strict_configuration(tmp_path: Path) -> None:
    project = PyProject(tmp_path)
    project.write("pytest.ini", "[pytest]\naddopts = --strict-config\n")
    project.write("test_it.py", "def test_it():\n    assert True\n")
    _, report = project.execute(extra=["-p", "no:cacheprovider"])
    assert (report.ended, [r.status for r in report.results]) == (RunEnd.FINISHED, [Status.PASS])


def test_no_selection_leaves_the_choice_to_the_project() -> None:
    request = asked()
    [made] = RUNNER.commands(request)
    channel = channel_of(RUNNER, request)
    assert paths(request) == ()
    assert (made.cwd, made.command) == ("/w", "python -m pytest")
    told = json.loads(channel.hello[8:])
    assert told == {"nonce": "n", "worktree": "/w", "select": [], "trace": [], "argv": told["argv"]}
    assert told["argv"][:2] == ["-p", "verdigris_reporter.plugin"]


def test_selection_names_each_file_once_from_the_stacks_root() -> None:
    names = ("api/t/test_a.py::test_x", "api/t/test_a.py::test_y[a b]", "lib/test_b.py")
    request = asked(*names, stack_root="api")
    [made] = RUNNER.commands(request)
    assert paths(request) == ("t/test_a.py", "../lib/test_b.py")
    assert made.cwd == "/w/api"
    assert made.command == "python -m pytest t/test_a.py::test_x 't/test_a.py::test_y[a b]' ../lib/test_b.py"


@pytest.mark.parametrize(
    ("path", "argument"),
    [("-k.py", "./-k.py"), ("@a.py", "./@a.py"), ("d[1]/t.py", "."), ("a/d::e/t.py", "a")],
)
def test_names_that_pytest_would_take_for_something_else(path: str, argument: str) -> None:
    assert paths(asked(f"{path}::test_x")) == (argument,)


def test_ids_select_exactly_the_named_test(project: PyProject) -> None:
    project.write(
        "tests/test_a.py",
        """
        import pytest, unittest
        @pytest.mark.parametrize("x", ["a::b", "c/d", "[e]", "f g", "a::b::c", "'q'", "-k", "\\n"])
        def test_p(x): pass
        def test_p2(): pass
        class TestC:
            def test_m(self): pass
            class TestD:
                def test_n(self): pass
        class Unit(unittest.TestCase):
            def test_u(self): pass
        """,
    )
    everything = project.test().collected
    assert len(everything) == 12
    for test_id in everything:
        report = project.test(test_id) if "[" in test_id else None
        assert report is None or (report.collected == (test_id,) == tuple(r.id for r in report.results))
    chosen = project.test(
        "tests/test_a.py::TestC", "tests/test_a.py::Unit::test_u", "tests/test_a.py::no_such"
    )
    assert chosen.ended is RunEnd.FINISHED
    assert [r.id.partition("::")[2] for r in chosen.results] == [
        "TestC::test_m",
        "TestC::TestD::test_n",
        "Unit::test_u",
    ]
    assert len(chosen.others) == 9


def test_names_of_files(project: PyProject) -> None:
    odd = [
        "test_a space.py",
        "d[1]/test_a.py",
        "e::f/test_b.py",
        "test_ü.py",
        "-x/test_c.py",
        "@y/test_d.py",
        "q'\"/test_e.py",
    ]
    for path in odd:
        project.write(path, "def test_x(): pass")
    raw = os.fsencode(project.root) + b"/test_\xff.py"
    Path(os.fsdecode(raw)).write_text("def test_x(): assert 0")
    ids = [f"{path}::test_x" for path in (*odd, os.fsdecode(b"test_\xff.py"))]
    report = project.test(*ids, env={"PYTHONDONTWRITEBYTECODE": "1"})
    assert sorted(report.collected) == sorted(ids), report.tail
    assert report.others == ()
    assert {r.id for r in report.results if r.status is Status.FAIL} == {ids[-1]}


def test_a_stack_below_the_worktree_with_its_rootdir_above(project: PyProject) -> None:
    project.write("pytest.ini", "[pytest]\n")
    project.write(
        "api/tests/test_a.py", "import os\ndef test_x(): assert os.path.basename(os.getcwd()) == 'api'"
    )
    report = project.test("api/tests/test_a.py::test_x", stack_root="api")
    assert [(r.id, r.status) for r in report.results] == [("api/tests/test_a.py::test_x", Status.PASS)]


def test_it_behaves_as_python_m_pytest(project: PyProject) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = -x --lf --strict-markers\n")
    project.write(
        "tests/test_a.py",
        """
        import __main__, gc, json, os, sys, pathlib
        def test_seen(request):
            config = request.config
            seen = [gc.isenabled(), gc.get_threshold(),
                    sys.path[0], sys.argv[0], __main__.__spec__.name, os.getcwd(), str(config.rootpath),
                    str(config.inipath), sys.executable, config.option.strict_markers, sorted(sys.path[1:]),
                    gc.get_freeze_count()]
            pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(seen))
        """,
    )
    ours, plain = project.root.parent / "ours", project.root.parent / "plain"
    project.test(env={"SEEN": str(ours)}, cold=True)
    argv = [sys.executable, "-m", "pytest", "-o", f"cache_dir={project.root.parent / 'cache'}"]
    subprocess.run(
        argv, cwd=project.root, env={**os.environ, "SEEN": str(plain)}, capture_output=True, check=True
    )
    *seen, path, frozen = json.loads(ours.read_text())
    *expected, plain_path, plain_frozen = json.loads(plain.read_text())
    assert seen == expected
    assert frozen > plain_frozen, "what pytest loaded is not looked through for garbage"
    added = [entry for entry in path if entry not in plain_path]
    assert [Path(entry).name for entry in added] == ["reporter"]


def test_every_result_comes_whatever_the_configuration_says(project: PyProject) -> None:
    project.write("pytest.ini", "[pytest]\naddopts = -x --lf\n")
    project.write("test_a.py", "def test_a(): assert 0\ndef test_b(): assert 0\ndef test_c(): pass")
    project.write("test_broken.py", "import no_such_module")
    for _ in range(2):
        report = project.test()
        assert [r.status for r in report.results] == [Status.FAIL, Status.FAIL, Status.PASS]
        assert [e.path for e in report.errors] == ["test_broken.py"]
        assert report.ended is RunEnd.FINISHED
    assert not (project.root / ".pytest_cache").exists()


def test_the_channel_is_hidden_from_the_project(project: PyProject) -> None:
    project.write(
        "conftest.py",
        f"""
        import os, pathlib, subprocess
        assert not [name for name in os.environ if "VERDIGRIS" in name and "WARM" not in name]
        for name in ("environ", "cmdline"):
            assert {NONCE!r}.encode() not in pathlib.Path("/proc/self", name).read_bytes()
        listing = ["ls", "-l", "/proc/self/fd"]
        theirs = subprocess.run(listing, stdout=subprocess.PIPE, close_fds=False).stdout
        assert b"socket" not in theirs
        """,
    )
    project.write("test_a.py", "def test_a(): pass")
    report = project.test()
    assert [r.status for r in report.results] == [Status.PASS], report.tail


def test_lines_that_the_reporter_did_not_write_are_counted_and_ignored(project: PyProject) -> None:
    project.write(
        "test_a.py",
        """
        import os, stat
        def test_forged():
            for n in range(3, 50):
                try:
                    if stat.S_ISSOCK(os.fstat(n).st_mode):
                        os.write(n, b'guess {"kind": "test", "id": "test_a.py::test_b", "phase": "call"}\\n')
                except OSError: pass
        """,
    )
    report = project.test()
    assert report.strays == 1
    assert [r.id for r in report.results] == ["test_a.py::test_forged"]


def test_executed_lines(project: PyProject) -> None:
    project.write("src/a b.py", "x = 1\ndef f():\n    return 2\ndef g():\n    return 3\n")
    project.write("src/b.py", "y = 1\n")
    project.write(
        "test_a.py",
        """
        import importlib.util, threading
        def test_a():
            spec = importlib.util.spec_from_file_location("ab", "src/a b.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            thread = threading.Thread(target=module.f)
            thread.start(), thread.join()
        """,
    )
    report = project.test(trace=["src/a b.py", "src/b.py"])
    assert report.lines == {"src/a b.py": frozenset({1, 2, 3, 4}), "src/b.py": frozenset()}


COVERING = """
import sys
import pytest

def pytest_addoption(parser):
    parser.addoption("--cov", dest="cov_source")
    parser.addoption("--no-cov", dest="no_cov", action="store_true", default=False)

@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    early_config.pluginmanager.register(Coverage(options))

class Coverage:
    def __init__(self, options):
        self.options = options

    def pytest_sessionstart(self):
        if not self.options.no_cov:
            sys.settrace(lambda *_: None)
"""


def test_lines_are_seen_although_the_project_measures_its_coverage(project: PyProject) -> None:
    """As pytest-cov does it, which takes the only tracer that there is before Python 3.12."""
    project.write("covering.py", COVERING)
    project.write("pytest.ini", "[pytest]\naddopts = -p covering --cov=a\n")
    project.write("a.py", "def f():\n    return 1\n")
    project.write("test_a.py", "import a\ndef test_a(): assert a.f() == 1")
    report = project.test(trace=["a.py"])
    assert (report.lines, report.cut) == ({"a.py": frozenset({1, 2})}, False)


DEEP = "def f():\n    return 1\ndef deep():\n    return deep()\n"


def test_lines_are_seen_after_a_test_that_recurses_too_deeply(project: PyProject) -> None:
    """The limit is met in our trace function too, and Python drops one that fails."""
    project.write("a.py", DEEP)
    test = "import a, pytest\ndef test_a():\n    with pytest.raises(RecursionError): a.deep()\n"
    project.write("test_a.py", f"{test}def test_b(): a.f()\n")
    report = project.test(trace=["a.py"])
    assert report.lines == {"a.py": frozenset({1, 2, 3, 4})}
    assert report.cut is (sys.version_info < (3, 12))


def test_lines_are_seen_before_a_last_test_that_recurses_too_deeply(project: PyProject) -> None:
    project.write("a.py", DEEP)
    test = "import a, pytest\ndef test_a():\n    with pytest.raises(RecursionError): a.deep()\n"
    project.write("test_a.py", test)
    report = project.test(trace=["a.py"])
    assert (report.lines, report.cut) == ({"a.py": frozenset({1, 3, 4})}, sys.version_info < (3, 12))


def test_collect_only(project: PyProject) -> None:
    project.write("test_a.py", "def test_a(): assert 0")
    report = project.test(collect_only=True)
    assert (report.ended, report.collected, report.results) == (RunEnd.FINISHED, ("test_a.py::test_a",), ())


def test_facts_of_a_failure(project: PyProject) -> None:
    project.write(
        "test_a.py",
        """
        import functools
        class Unprintable(Exception):
            def __str__(self): raise ValueError
        def wrap(f):
            @functools.wraps(f)
            def wrapper(): return f()
            return wrapper

        @wrap
        def test_a():
            print("said")
            assert 1 == 2, "because"
        def test_b(): raise Unprintable
        def test_c(): raise ValueError("x" * 100_000)
        """,
    )
    first, second, third = project.test().results
    assert first.failure is not None
    assert (first.line, first.output, first.failure.place and first.failure.place.line) == (10, "said\n", 13)
    assert first.failure.message.startswith("because")
    assert second.failure is not None
    assert second.failure.kind == "Unprintable"
    assert third.failure is not None
    assert len(third.failure.message) < 5_000


def test_more_ids_than_fit_into_one_line_of_the_channel(
    project: PyProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite of 60,000 tests has ids of several megabytes."""
    monkeypatch.setattr(process, "LONGEST_LINE", 100_000)
    project.write(
        "test_a.py",
        """
        import pytest

        @pytest.mark.parametrize("n", ["x" * 80 + str(n) for n in range(1200)])
        def test_n(n): pass
        """,
    )
    report = project.test(collect_only=True)
    assert (report.ended, len(report.collected), report.strays) == (RunEnd.FINISHED, 1200, 0), report.tail
