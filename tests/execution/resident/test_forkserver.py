"""Runs by a resident's processes: as in a cold room, and with the same outcomes."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
import textwrap
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, CONFIG, SUB, TEST_ADD, World, make_world
from support.warming import Warmth, ended, folders, ready, until
from verdigris.core.events import TestRun
from verdigris.core.report import RunEnd, Status
from verdigris.execution.resident import borrowed_child, forkserver, headstart, resident
from verdigris.execution.rooms import terms_of
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.runners.python import BOOTSTRAP
from verdigris.sandbox import child
from verdigris.sandbox.folders import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from verdigris.core.report import TestReport

    Run: TypeAlias = Callable[[World, Warmth, str], TestReport]

pytestmark = pytest.mark.skipif(
    not borrowed_child.is_possible(child.available().way), reason="no room to walk into can be made here"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def allowed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one home for all tests: some of the variables of a run are made of it."""
    monkeypatch.setenv("VERDIGRIS_WARM", "1")
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def warmth(monkeypatch: pytest.MonkeyPatch) -> Warmth:
    return Warmth(monkeypatch)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = make_world(tmp_path_factory.mktemp("shared") / "repo")
    with ended(world):
        yield world


@pytest.fixture
def warm(shared: World) -> World:
    """A world as it was made, whose resident is ready."""
    shared.repo.git("checkout", "-q", "--", ".")
    shared.repo.git("clean", "-qfd")
    if not resident.running(str(shared.project.repo.private)):
        called(shared, "tests/test_add.py")
    ready(shared)
    return shared


@pytest.fixture
def alone(world: World) -> Iterator[World]:
    """One that no other test has, with a resident that is ready."""
    with ended(world):
        called(world, "tests/test_add.py")
        ready(world)
        yield world


def called(world: World, *names: str, timeout: float | None = None) -> TestReport:
    project = world.project
    (stack,) = project.settings.stacks
    return run_request(project, stack, TestRequest(names, timeout=timeout))


def both(world: World, warmth: Warmth, *names: str) -> TestReport:
    """The warm run's report, which is the cold one's but for what is measured."""
    found = called_warm(world, warmth, *names)
    os.environ["VERDIGRIS_WARM"] = "0"
    cold = called(world, *names)
    os.environ["VERDIGRIS_WARM"] = "1"
    return same(found, cold)


def cold_then_warm(world: World, warmth: Warmth, *names: str) -> TestReport:
    """The same in a new world, whose first run is cold."""
    cold = called(world, *names)
    ready(world)
    return same(called_warm(world, warmth, *names), cold)


def called_warm(world: World, warmth: Warmth, *names: str) -> TestReport:
    found = called(world, *names)
    assert warmth.taken[-1], "it was made cold"
    return found


def same(found: TestReport, cold: TestReport) -> TestReport:
    for one, other in zip(_shown(found), _shown(cold), strict=True):
        assert one == other
    return found


def _shown(report: TestReport) -> list[object]:
    how = (report.ended, report.exit_code, report.collected, report.errors, report.wrote, report.sandbox)
    return [*(replace(result, duration_ms=0, output="") for result in report.results), *how]


IT = "tests/test_it.py"


def tried(world: World, warmth: Warmth, body: str, run: Run = both) -> TestReport:
    world.write(IT, "def test_it():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n")
    return run(world, warmth, IT)


def _is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def failures(report: TestReport) -> list[str]:
    return [
        f"{r.status} {r.failure.message if r.failure else ''}" for r in report.results if r.status != "pass"
    ]


def test_the_first_run_is_cold_the_next_ones_are_warm_and_a_verdict_is_cold(
    alone: World, warmth: Warmth
) -> None:
    alone.green()
    assert [test.red for test in alone.events(TestRun) if isinstance(test, TestRun)][-1] == "valid"
    alone.write("calc.py", CALC + SUB)
    assert alone.test("tests/test_sub.py").passed
    assert warmth.taken == [True, True]
    headstart.begin(str(alone.root), warm=True)
    try:
        assert alone.settle().verdict.accepted
    finally:
        headstart.cancel()
    assert warmth.taken == [True, True], "nor does a verdict take the process that waits for it"
    alone.write("tdd.yaml", CONFIG + "warm: false\n")
    alone.write("tests/test_add.py", TEST_ADD + "# run again\n")
    assert alone.test("tests/test_add.py").passed
    assert warmth.taken == [True, True], "the configuration switches it off"


WRITER = """
import os, pathlib
root = pathlib.Path(__file__).resolve().parents[1]
for path in ("tdd.yaml", "calc.py", "tests/test_add.py", "tests/new.py"):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("forged")
(root / "conftest.py").unlink()
"""
SEEN = """
import os, pathlib, socket, subprocess, tempfile
import pytest

SAME = {"HOME", "TMPDIR"}

def status(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return [line.split()[1:] for line in lines if line.startswith(f"{name}:")]

def mounts():
    lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    found = [(line[4], sorted(line[5].split(",")), line[line.index("-") + 1]) for line in lines]
    others = ("/proc", "/tmp/tdd.")  # a process table of its own; another name in each room
    return sorted(one for one in found if "tdd-room." not in one[0] and not one[0].startswith(others))

FACTS = {
    "mounts": mounts,
    "ids": lambda: [pathlib.Path(f"/proc/self/{n}").read_text() for n in ("uid_map", "gid_map", "setgroups")],
    "descriptors": lambda: len(os.listdir("/proc/self/fd")),
    "the system": lambda: open("/etc/verdigris-was-here", "w"),
    "above": lambda: open("../verdigris-was-here", "w"),
    "the top": lambda: sorted(os.listdir("/")),
    "devices": lambda: sorted(os.listdir("/dev")),
    "git's": lambda: os.listdir(".git"),
    "home": lambda: (os.environ["HOME"].rpartition("/")[2], os.listdir(os.environ["HOME"])),
    "temporary": lambda: (tempfile.gettempdir() == os.environ["TMPDIR"], os.listdir(tempfile.gettempdir())),
    "variables": lambda: sorted((k, v) for k, v in os.environ.items() if k not in SAME),
    "interfaces": socket.if_nameindex,
    "session": lambda: (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()),
    "limits": lambda: pathlib.Path("/proc/self/limits").read_text().split(),
    "input": lambda: os.readlink("/proc/self/fd/0"),
    "to mount": lambda: subprocess.call(["mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL),
    "niceness": lambda: os.getpriority(os.PRIO_PROCESS, 0),
    "the folder": os.getcwd,
    "queues": lambda: pathlib.Path("/proc/sysvipc/msg").read_text(),
}
STATUS = "Uid Gid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp SigIgn SigBlk Threads Umask"
for name in STATUS.split():
    FACTS[name] = lambda name=name: status(name)
OF_THE_LIBRARY = 3 << 31
FACTS["SigIgn"] = lambda: int(status("SigIgn")[0][0], 16) & ~OF_THE_LIBRARY

@pytest.mark.parametrize("name", sorted(FACTS))
def test_seen(name):
    try:
        found = FACTS[name]()
    except OSError as error:
        found = f"{type(error).__name__} {error.errno}"
    pytest.fail(repr(found))
"""


def test_what_a_run_writes_has_no_effect_and_is_reported(warm: World, warmth: Warmth) -> None:
    kept = ("tdd.yaml", "calc.py", "tests/test_add.py", "conftest.py")
    before = [warm.read(path) for path in kept]
    report = tried(warm, warmth, WRITER)
    assert [warm.read(path) for path in kept] == before
    assert not (warm.root / "tests/new.py").exists()
    assert set(report.wrote) == {
        "calc.py",
        "conftest.py",
        "tdd.yaml",
        "tests/new.py",
        "tests/test_add.py",
    }
    assert report.sandbox == "overlay"
    assert warm.whole()


def test_what_a_run_may_do_and_see_is_what_a_cold_one_may(warm: World, warmth: Warmth) -> None:
    warm.write("tests/test_seen.py", SEEN)
    report = both(warm, warmth, "tests/test_seen.py")
    seen = {r.native_id.partition("[")[2]: r.failure.message for r in report.results if r.failure}
    assert "OSError 30" in seen["the system]"]


@pytest.mark.parametrize("network", ["none", "host"])
def test_the_network_is_as_configured(tmp_path: Path, warmth: Warmth, network: str, served: int) -> None:
    world = make_world(tmp_path / "repo", f"room: {{network: {network}}}\n")
    with ended(world):
        connect = f"import socket\nsocket.create_connection(('127.0.0.1', {served}), 5).close()"
        assert bool(failures(tried(world, warmth, connect, cold_then_warm))) is (network == "none")


def test_every_run_has_a_room_of_its_own(warm: World, warmth: Warmth) -> None:
    body = """
        import os, pathlib
        for place in (os.environ["HOME"], os.environ["TMPDIR"], "/dev/shm", "."):
            left = pathlib.Path(place, "left")
            assert not left.exists(), left
            left.touch()
    """
    for version in range(2):
        assert failures(tried(warm, warmth, body + f"\n# {version}", called_warm)) == []


def test_new_changed_and_deleted_files_are_seen(warm: World, warmth: Warmth) -> None:
    warm.write("more/__init__.py", "VALUE = 1\n")
    body = "import more, calc\nassert more.VALUE == {}\nassert hasattr(calc, 'sub') is {}"
    assert failures(tried(warm, warmth, body.format(1, "False"), called_warm)) == []
    warm.write("more/__init__.py", "VALUE = 2\n")
    warm.write("calc.py", CALC + SUB)
    assert failures(tried(warm, warmth, body.format(2, "True"), called_warm)) == []
    (warm.root / "more/__init__.py").unlink()
    assert failures(tried(warm, warmth, body.format(2, "True"), called_warm)) != []


TRICKY = {
    "conftest.py": """
        import os, sys, pytest
        os.environ["SET_BY_CONFTEST"] = "1"
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "extra"))
        @pytest.fixture(scope="session")
        def service(tmp_path_factory):
            yield tmp_path_factory.mktemp("service")
    """,
    "pytest.ini": "[pytest]\nfilterwarnings = error\nxfail_strict = true\naddopts = -p helpers.plugin -ra\n",
    "helpers/__init__.py": "",
    "helpers/plugin.py": """
        import pytest
        def pytest_addoption(parser):
            parser.addoption("--tricky", default="usual")
        @pytest.fixture
        def tricky(request):
            value = request.config.getoption("--tricky")
            assert value == "usual"
            return value
    """,
    "extra/colorsys.py": "WHO = 'the project'\n",
    "lazy.py": "def load():\n    import fractions\n    return fractions.Fraction(1, 2)\n",
    "tests/test_tricky.py": """
        import asyncio, concurrent.futures, decimal, multiprocessing, os, pathlib, random, subprocess, sys
        import threading, time, unittest, warnings
        import pytest

        def test_a_thread():
            seen = []
            thread = threading.Thread(target=seen.append, args=(1,))
            thread.start(); thread.join()
            assert seen == [1] and threading.current_thread() is threading.main_thread()

        def test_a_pool():
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                assert list(pool.map(abs, [-1, 2])) == [1, 2]

        @pytest.mark.parametrize("how", ["fork", "spawn"])
        def test_a_process(how):
            context = multiprocessing.get_context(how)
            with context.Pool(1) as pool:
                assert pool.map(abs, [-3]) == [3]

        def test_a_command():
            code = "import os, sys, helpers; print(os.getcwd(), sys.flags.optimize)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            assert done.stdout.split() == [os.getcwd(), "0"] and done.stderr == ""

        def test_asyncio():
            async def work():
                await asyncio.sleep(0)
                return 7
            assert asyncio.run(work()) == 7

        def test_a_warning_is_an_error():
            warnings.warn("no", DeprecationWarning)

        def test_moves(monkeypatch, tmp_path):
            monkeypatch.chdir(tmp_path)
            monkeypatch.setenv("HOME", "/nowhere")
            assert os.getcwd() == str(tmp_path) and os.path.expanduser("~") == "/nowhere"

        def test_set_by_conftest():
            assert os.environ["SET_BY_CONFTEST"] == "1"

        def test_output(capsys, capfd):
            print("one")
            os.system("echo two")
            assert "one" in capsys.readouterr().out

        def test_streams():
            assert (sys.stdout.encoding, sys.stdin.closed) and not sys.__stdout__.isatty()

        def test_plugin(tricky, service):
            assert tricky == "usual" and service.is_dir()

        def test_plugins_assertions_are_rewritten():
            import helpers.plugin
            assert hasattr(helpers.plugin, "@pytest_ar")

        def test_a_module_that_hides_one_of_the_standard_library():
            import colorsys
            assert colorsys.WHO == "the project"

        def test_what_is_loaded():
            import lazy
            assert "fractions" not in sys.modules
            assert lazy.load() == 0.5
            assert "fractions" in sys.modules

        def test_the_main_module():
            assert sys.modules["__main__"].__spec__.name == "pytest.__main__"
            assert pathlib.Path(sys.argv[0]).name == "__main__.py"

        def test_a_failure_with_words():
            left, right = {"a": [1, 2, 3]}, {"a": [1, 2, 4]}
            assert left == right

        @pytest.mark.xfail
        def test_expected():
            assert 0

        @pytest.mark.xfail
        def test_unexpected():
            pass

        @pytest.mark.skip(reason="later")
        def test_skipped():
            pass

        @pytest.fixture
        def broken():
            raise OSError("no")

        def test_fixture(broken):
            pass

        class TestCase(unittest.TestCase):
            def test_sub(self):
                for n in range(2):
                    with self.subTest(n=n):
                        self.assertEqual(n, 0)

        def test_recursion():
            def down():
                return down()
            with pytest.raises(RecursionError):
                down()
            assert sys.getrecursionlimit() == 1000

        def test_decimal():
            assert decimal.getcontext().prec == 28

        def test_time():
            assert time.monotonic() > 0 and time.localtime().tm_year > 2000
    """,
    "tests/test_broken.py": "import no_such_module\n",
}


def test_warm_and_cold_agree(tmp_path: Path, warmth: Warmth) -> None:
    files = {path: textwrap.dedent(text).lstrip("\n") for path, text in TRICKY.items()}
    world = make_world(tmp_path / "repo", **files)
    with ended(world):
        report = cold_then_warm(world, warmth)
        statuses = {r.native_id.partition("::")[2]: r.status for r in report.results}
        assert set(statuses.values()) == {Status.PASS, Status.FAIL, Status.SKIP, Status.ERROR}
        assert statuses["test_a_module_that_hides_one_of_the_standard_library"] is Status.PASS
        assert statuses["test_what_is_loaded"] is Status.PASS
        assert statuses["test_plugins_assertions_are_rewritten"] is Status.PASS
        assert [error.path for error in report.errors] == ["tests/test_broken.py"]


BAD_ENDS = (
    ("import os\nos._exit(3)", both, RunEnd.EARLY_EXIT),
    ("import os\nos._exit(0)", called_warm, RunEnd.EARLY_EXIT),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", both, RunEnd.DIED),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", called_warm, RunEnd.DIED),
    ("import pytest\npytest.exit('enough', 7)", both, None),
    ("raise KeyboardInterrupt", both, None),
)


def test_bad_ends_are_told_as_they_are(warm: World, warmth: Warmth) -> None:
    """After each of them the next run is made warm, too."""
    for body, run, end in BAD_ENDS:
        report = tried(warm, warmth, body, run)
        assert end in {None, report.ended}
    assert warm.test("tests/test_add.py").passed
    assert warmth.taken[-1]


def test_a_run_that_takes_too_long_is_killed_with_all_that_it_started(warm: World, warmth: Warmth) -> None:
    body = """
        import os, pathlib, subprocess, sys, time
        inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        os.write(2, f"PIDS {os.getpid()} {inner.pid} ".encode())
        time.sleep(60)
    """
    warm.write("pytest.ini", "[pytest]\naddopts = -s\n")
    warm.write("tests/test_it.py", "def test_it():\n" + textwrap.indent(textwrap.dedent(body), "    "))
    report = called(warm, "tests/test_it.py", timeout=1.0)
    assert (report.ended, warmth.taken) == (RunEnd.TIMEOUT, [True])
    words = report.tail.split()
    pids = [int(word) for word in words[words.index("PIDS") + 1 :][:2]]
    for pid in pids:
        until(partial(_is_gone, pid), "it goes on")
    assert warm.test("tests/test_add.py").passed
    assert warmth.taken[-1]


def test_what_a_test_leaves_running_is_killed(warm: World, warmth: Warmth) -> None:
    body = """
        import subprocess, sys
        inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        inner.returncode = 0
        assert 0, inner.pid
    """
    warm.write("tests/test_it.py", "def test_it():\n" + textwrap.indent(textwrap.dedent(body), "    "))
    report = called(warm, "tests/test_it.py")
    (failure,) = [r.failure for r in report.results]
    assert failure is not None
    pid = int(failure.message.split()[0])
    until(partial(_is_gone, pid), "it goes on")


KILLS = """
import os, signal, time


def test_kill():
    parent = os.getppid()
    if "bootstrap" in open(f"/proc/{parent}/cmdline").read():
        os.kill(parent, signal.SIGKILL)
        time.sleep(5)
"""


def test_a_resident_that_dies_in_a_run_is_no_matter(warm: World, warmth: Warmth) -> None:
    """The run is made again, cold."""
    warm.write("tests/test_kill.py", KILLS)
    assert warm.test("tests/test_kill.py").passed
    assert warmth.taken == [True]


def test_another_environment_is_another_resident(
    alone: World, warmth: Warmth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8" if os.environ.get("LC_ALL") != "C.UTF-8" else "C")
    assert called(alone, "tests/test_add.py").results[0].status is Status.PASS
    assert warmth.taken == [False]
    ready(alone)
    called(alone, "tests/test_add.py")
    assert warmth.taken == [False, True]


PATH_SEEN = """
import sys
def test_path():
    raise ValueError(repr(sys.path))
"""


@pytest.mark.parametrize(
    "path",
    [
        "lib",
        "{root}/lib:{site}:",
        "{root}/lib:{root}:{root}/lib/../lib:/nowhere",
        "{outside}:lib:{root}/tests",
    ],
)
def test_the_path_is_that_of_a_cold_run(
    world: World, warmth: Warmth, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    world.write("lib/elsewhere.py", "")
    world.write("tests/test_path.py", PATH_SEEN)
    site = sysconfig.get_path("purelib")
    monkeypatch.setenv("PYTHONPATH", path.format(root=world.root, site=site, outside=tmp_path))
    with ended(world):
        report = cold_then_warm(world, warmth, "tests/test_path.py")
        assert f"'{world.root}/lib'" in failures(report)[0]


def test_nothing_of_the_project_is_on_the_path_of_the_resident_itself(
    world: World, warmth: Warmth, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The modules that it loads are the environment's, and nobody's whom the runs are to tell about."""
    world.write("lib/sitecustomize.py", "")
    world.write("tests/test_path.py", PATH_SEEN)
    monkeypatch.setenv("PYTHONPATH", f"lib:{tmp_path}:{world.root}")
    with ended(world):
        called(world, "tests/test_path.py")
        ready(world)
        [folder] = folders(world)
        keeper = int((folder / "lock").read_text())
        [program] = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        started = Path(f"/proc/{program}/environ").read_bytes().split(b"\0")
        assert f"PYTHONPATH={tmp_path}".encode() in started
        called(world, "tests/test_path.py")
    assert warmth.taken[-1] is False, "what lib/sitecustomize.py does is known to a cold run only"


def test_a_changed_lock_file_ends_it(alone: World, warmth: Warmth) -> None:
    keys = [key(alone)]
    for name, text in (
        ("uv.lock", "something\n"),
        ("requirements/dev.txt", "something\n"),
        ("requirements/dev.txt", "something else\n"),
    ):
        alone.write(name, text)
        keys.append(key(alone))
    assert len(set(keys)) == 4
    called(alone, "tests/test_add.py")
    ready(alone)
    called(alone, "tests/test_add.py")
    assert warmth.taken == [False, True]


def key(world: World) -> str:
    """Of the resident that a run would ask for now."""
    watched = os.fsdecode((folders(world)[0] / forkserver.WATCHED).read_bytes()).split("\0")
    argv = (sys.executable, str(BOOTSTRAP))
    return forkserver._key(terms_of(world.project), argv, str(world.root), watched)


def test_the_command_takes_a_warm_process_first(warm: World) -> None:
    warm.test("tests/test_add.py")
    headstart.begin(str(warm.root), warm=True)
    try:
        (early,) = headstart._waiting.values()
        assert early.warm
        assert warm.test("tests/test_add.py").passed
        assert headstart._waiting == {}
        headstart.begin(str(warm.root), warm=True)
    finally:
        headstart.cancel()
    assert warm.test("tests/test_add.py").passed


OWN_PPRINT = """
ANSWER = 42


def pprint(value, **_):
    print(repr(value))


def pformat(value, **_):
    return repr(value)


class PrettyPrinter:
    pass
"""


def test_a_module_of_the_project_that_hides_a_loaded_one(alone: World, warmth: Warmth) -> None:
    """It is run cold, and no resident is started again for nothing."""
    alone.write("pprint.py", OWN_PPRINT)
    alone.write("tests/test_shadow.py", "import pprint\n\n\ndef test_it():\n    assert pprint.ANSWER == 42\n")
    for _ in range(2):
        assert [r.status for r in called(alone, "tests/test_shadow.py").results] == [Status.PASS]
    assert warmth.taken == [True, False]


def test_nothing_is_left_behind(tmp_path: Path, warmth: Warmth) -> None:
    world = make_world(tmp_path / "repo")
    place = Path(terms_of(world.project).place)
    with ended(world):
        world.test()
        ready(world)
        called(world, "tests/test_add.py")
        assert warmth.taken[-1]
        (folder,) = folders(world)
        os.kill(int((folder / "lock").read_text()), signal.SIGKILL)
        until(lambda: not resident.is_running(str(folder)), "it goes on")
        time.sleep(0.05)
        assert called(world, "tests/test_add.py").ended is RunEnd.FINISHED
        ready(world)
    until(lambda: not list(place.glob(f"{PREFIX}*")), "a room is left")
    assert str(place) not in Path("/proc/self/mountinfo").read_text()


def test_a_worktree_whose_name_is_any_bytes(tmp_path: Path, warmth: Warmth) -> None:
    world = make_world(tmp_path / "a b \udce9 é")
    with ended(world):
        assert cold_then_warm(world, warmth).results[0].status is Status.PASS
