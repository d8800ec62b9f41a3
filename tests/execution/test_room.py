"""The room around real runs: what a test may see, and that what it writes has no effect."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest

from support.cage import as_nobody, interpreter, obstacle
from support.gitrepo import GitRepo
from support.turns import CALC, CONFIG, SUB, SUB_ID, TEST_SUB, World, make_green_world, make_world
from support.unconfined import without_sandbox
from verdigris.core.errors import HarnessError
from verdigris.core.events import Proving, Violation
from verdigris.core.report import Status, TestReport
from verdigris.core.value import replace
from verdigris.core.verdict import Kind
from verdigris.execution import rooms
from verdigris.execution.process import Command, run
from verdigris.execution.room import Layer
from verdigris.execution.rooms import GIT_SEEN, HOST_INSTEAD, PROCESSES_SEEN, possible, room
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import TestRequest
from verdigris.sandbox import child, entry
from verdigris.sandbox.folders import PREFIX, ROOMS

needs_sandbox = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

WRITER = """
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATHS = ("tdd.yaml", ".claude/settings.json", "calc.py", "tests/test_add.py", ".git/tdd/log", "tests/new.py")


def test_writer():
    kept = ROOT / ".git/tdd"
    if kept.is_dir() and [*kept.iterdir()]:
        return
    for path in PATHS:
        target = ROOT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("forged")
    assert False
"""


def report_of(world: World, *words: str) -> TestReport:
    report = world.test(*words).report
    assert report is not None
    return report


def tried(world: World, body: str) -> TestReport:
    """A test with this body, run."""
    name = "tests/test_it.py"
    world.write(name, "def test_it():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ") + "\n")
    return report_of(world, name)


def failures(report: TestReport) -> list[str]:
    return [
        f"{r.status} {r.failure.message if r.failure else ''}" for r in report.results if r.status != "pass"
    ]


@needs_sandbox
def test_what_a_test_writes_while_it_runs_has_no_effect_and_is_reported(tmp_path: Path) -> None:
    """Where git is shown; the kernel's own folder cannot be read there."""
    world = make_world(tmp_path / "project", "room: {git: true}\n")
    world.write(".claude/settings.json", "{}\n")
    world.write("tests/test_writer.py", WRITER)
    control = world.project.repo.control
    kept = ("tdd.yaml", ".claude/settings.json", "calc.py", "tests/test_add.py")
    before = [(world.read(path), (world.root / path).stat().st_mtime_ns) for path in kept]
    names = sorted(path.name for path in control.iterdir())
    report = report_of(world, "tests/test_writer.py")
    assert before == [(world.read(path), (world.root / path).stat().st_mtime_ns) for path in kept]
    assert sorted(path.name for path in control.iterdir()) == names
    assert not (world.root / "tests/new.py").exists()
    assert world.whole()
    assert report.sandbox == "overlay"
    written = (".claude/settings.json", ".git/tdd/log", "calc.py", "tdd.yaml", "tests/new.py")
    assert report.wrote == tuple(sorted((*written, "tests/test_add.py")))
    violations = {event.path for event in world.events(Violation) if isinstance(event, Violation)}
    assert violations == {".claude/settings.json", ".git/tdd/log", "tdd.yaml", "tests/test_add.py"}


GIT = """
import pathlib, subprocess
here = pathlib.Path.cwd()
assert (here / ".git").is_dir()
assert [*(here / ".git").iterdir()] == []
asked = subprocess.run(["git", "log"], capture_output=True, text=True)
assert asked.returncode == 128, asked.stdout
assert "not a git repository" in asked.stderr
subprocess.run(["git", "init", "-q", "own"], cwd="/tmp", check=True)
subprocess.run(["git", "status"], cwd="/tmp/own", check=True)
"""


LAID = """
import glob, os, tempfile
own = os.path.dirname(os.path.dirname(tempfile.gettempdir()))
parts = [f"{own}/{name}" for name in ("layer", "upper", "work")]
assert [os.listdir(part) for part in parts if os.path.isdir(part)] in ([], [[], [], []])
"""
SWEEPS = f"""
import os, sys
sys.path.append({str(Path(rooms.__file__).parents[2])!r})
from verdigris.sandbox.folders import sweep
kept = os.environ["HOME"] + "/kept"
open(kept, "w").close()
sweep({entry.temporary()!r})
assert os.path.exists(kept)
assert os.path.isdir(os.environ["TMPDIR"])
"""


@needs_sandbox
def test_what_is_seen_and_done_in_a_usual_room(world: World) -> None:
    """The repository's history is not there, and git works elsewhere.

    What is laid over the tree is not found beside it: temporary folders are shown, as the worktree is in one.
    Who sweeps the rooms around spares its own, though inside no lock on a folder outside is seen.
    """
    for name, body in {"git": GIT, "laid": LAID, "sweeps": SWEEPS}.items():
        text = f"def test_{name}():\n" + textwrap.indent(body.strip(), "    ") + "\n"
        world.write(f"tests/test_{name}.py", text)
    report = report_of(world)
    assert failures(report) == []
    assert len(report.results) == 4


@needs_sandbox
def test_nor_is_it_there_in_a_linked_worktree(tmp_path: Path) -> None:
    first = make_world(tmp_path / "main")
    first.repo.git("worktree", "add", "--quiet", "-b", "linked", str(tmp_path / "linked"))
    world = World(GitRepo(tmp_path / "linked", first.repo.home))
    body = f"""
    import pathlib, subprocess
    assert pathlib.Path(".git").read_text().startswith("gitdir: ")
    assert [*pathlib.Path({str(world.project.repo.common_dir)!r}).iterdir()] == []
    assert subprocess.run(["git", "log"], capture_output=True).returncode == 128
    """
    assert not failures(tried(world, body))


@needs_sandbox
def test_a_golden_file_rewritten_by_the_verdicts_run_makes_it_broken(world: World) -> None:
    golden = "from pathlib import Path\nimport calc\n\n\ndef test_sub():\n"
    golden += "    answer = Path(__file__).with_name('answer.txt')\n"
    golden += "    calc.sub(5, 3, answer)\n    assert answer.read_text() == '2'\n"
    world.write("tests/answer.txt", "7")
    world.write("tests/test_sub.py", golden)
    world.claimed()
    world.write("calc.py", CALC + "\n\ndef sub(a, b, answer):\n    answer.write_text('2')\n")
    done = world.settle()
    assert done.verdict.kind is Kind.BROKEN
    assert "tests/answer.txt" in done.verdict.reasons[0]
    assert "generated" in done.verdict.reasons[0]
    assert (world.read("tests/answer.txt"), world.state.strikes) == ("7", {})
    assert done.report is not None
    assert done.report.wrote == ("tests/answer.txt",)


@needs_sandbox
@pytest.mark.parametrize("path", ["calc.py", "tests/helper.py"])
def test_code_that_the_verdicts_run_writes_makes_it_broken(world: World, path: str) -> None:
    """The tests that come later load it: what they judge is not the tree on disk."""
    right = CALC + SUB
    world.write("tests/test_sub.py", TEST_SUB)
    world.claimed()
    text = right if path == "calc.py" else "X = 1\n"
    world.write("calc.py", f"open({path!r}, 'w').write({text!r})\n{right}")
    done = world.settle()
    assert done.verdict.kind is Kind.BROKEN
    assert f"the test run itself wrote {path}" in done.verdict.reasons[0]
    assert world.state.strikes == {}


@needs_sandbox
def test_nothing_of_a_room_lies_in_a_temporary_folder_or_can_be_reached_by_a_path(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("TMPDIR", str(shared))
    world.write("laid.txt", "laid")
    tree = world.project.workspace.snapshot()
    (world.root / "laid.txt").unlink()
    layer = Layer(tree, world.project.workspace.snapshot())
    with room(world.project, layer=layer) as made:
        command = Command(
            ("sh", "-c", "cat laid.txt; echo new > calc.py"), world.root, made.env, confine=made.confine
        )
        assert run(command, timeout=60).output == b"laid"
        assert list(shared.iterdir()) == []
        assert list(Path(made.folders.memory).iterdir()) == [], "its memory is mounted for the run only"
        assert made.wrote(world.project.classify) == ("calc.py",)
    assert list((world.project.repo.control / ROOMS).iterdir()) == []


@needs_sandbox
def test_where_the_control_area_can_hold_no_upper_layer_it_is_in_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = possible(world.project)
    monkeypatch.setattr(child, "recall_availability", lambda _: replace(found, disk=False))
    with room(world.project) as made:
        command = Command(("sh", "-c", "echo new > calc.py"), world.root, made.env, confine=made.confine)
        assert run(command, timeout=60).exit_code == 0
        assert made.wrote(world.project.classify) == ("calc.py",)
        assert list(Path(made.folders.memory).iterdir()) == []
    assert report_of(world).results


@needs_sandbox
def test_a_persons_key_shows_git_and_the_verdict_says_so_and_of_other_writes(tmp_path: Path) -> None:
    world = make_world(tmp_path / "project", "room: {git: true}\n")
    seen = "    import subprocess\n    subprocess.run(['git', 'log'], check=True)\n"
    world.write("tests/test_sub.py", TEST_SUB + seen + "    open('tests/out.txt', 'w').close()\n")
    world.claimed()
    world.write("calc.py", CALC + SUB)
    done = world.settle()
    assert done.verdict.accepted
    assert GIT_SEEN in done.verdict.concerns
    assert "the test run wrote tests/out.txt, which the worktree did not get" in done.verdict.concerns
    assert not (world.root / "tests/out.txt").exists()


@needs_sandbox
def test_proving_on_the_start_tree_leaves_the_users_files_alone(green: World) -> None:
    """A regression is only one because the same test passed at the turn's start."""
    green.write("calc.py", CALC.replace("a + b", "a * b") + SUB)

    def touched() -> list[tuple[int, int, int]]:
        found = (path.stat() for path in sorted(green.root.rglob("*.py")))
        return [(status.st_ino, status.st_mtime_ns, status.st_ctime_ns) for status in found]

    before = touched()
    assert green.settle().verdict.kind is Kind.REGRESSED
    assert touched() == before
    assert green.events(Proving) == []


def test_home_and_temporary_folders_are_fresh_no_secrets_are_handed_on_and_named_plugins_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    monkeypatch.setenv("HANDED_ON", "given")
    world = make_world(tmp_path / "repo", "room: {env: [HANDED_ON, SET_HERE=1], plugins: [pytester]}\n")
    body = f"""
        import os, pathlib, sys, tempfile
        home = pathlib.Path.home()
        assert str(home) != {os.environ["HOME"]!r} and list(home.iterdir()) == []
        assert tempfile.gettempdir() == os.environ["TMPDIR"] and os.listdir(tempfile.gettempdir()) == []
        (home / "left").touch()
        assert "SECRET_TOKEN" not in os.environ
        assert (os.environ["HANDED_ON"], os.environ["SET_HERE"]) == ("given", "1")
        assert os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] == "1"
        assert "_pytest.pytester" in sys.modules
    """
    for _ in range(2):
        assert failures(tried(world, body + "\n# again" * _)) == []


SERVES = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname(), 5).close()
"""


@needs_sandbox
@pytest.mark.parametrize(
    ("network", "its_own", "the_machines"), [("none", 0, 0), ("loopback", 1, 0), ("host", 1, 1)]
)
def test_the_network_is_as_configured(
    tmp_path: Path, network: str, its_own: int, the_machines: int, served: int
) -> None:
    world = make_world(tmp_path / "repo", f"room: {{network: {network}}}\n")
    world.write("tests/test_own.py", f"def test_own():\n{textwrap.indent(SERVES, '    ')}")
    connect = (
        f"import socket\n\n\ndef test_machine():\n    socket.create_connection(('127.0.0.1', {served}), 5)\n"
    )
    world.write("tests/test_machine.py", connect)
    statuses = {r.native_id.split("::")[1]: r.status for r in report_of(world).results}
    answers = {0: Status.FAIL, 1: Status.PASS}
    assert statuses["test_own"] is answers[its_own]
    assert statuses["test_machine"] is answers[the_machines]


@needs_sandbox
def test_a_network_of_its_own_that_cannot_be_had_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = possible(world.project)
    poor = child.Availability(found.way, found.disk, (child.Ability("network", ok=False, why="no"),))
    monkeypatch.setattr(child, "recall_availability", lambda _: poor)
    report = report_of(world)
    assert (report.notes, report.sandbox) == ((HOST_INSTEAD, PROCESSES_SEEN), "overlay")


def test_without_a_sandbox_the_run_is_made_and_it_is_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_sandbox(monkeypatch)
    world.green_by_record()
    world.write("calc.py", CALC.replace("a + b", "a * b") + SUB)
    done = world.settle()
    assert done.verdict.kind is Kind.REGRESSED
    assert world.events(Proving), "in place"
    assert done.report is not None
    assert done.report.sandbox == "none"
    assert world.read("calc.py") == CALC.replace("a + b", "a * b") + SUB


def test_a_bare_run_has_the_users_environment_and_no_sandbox(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    world.write(
        "tests/test_bare.py", "import os\n\n\ndef test_bare():\n    assert os.environ['SECRET_TOKEN']\n"
    )
    project = world.project
    (stack,) = project.settings.stacks
    bare, roomy = (
        run_request(project, stack, TestRequest(("tests/test_bare.py",)), bare=bare) for bare in (True, False)
    )
    assert [r.status for r in (*bare.results, *roomy.results)] == [Status.PASS, Status.FAIL]
    assert bare.sandbox == "none"


@needs_sandbox
def test_a_run_that_cannot_be_confined_is_not_made(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that is remembered is found out anew once; a bare run is never made instead."""
    world.test("tests/test_add.py")
    note = Path(rooms._note(world.project))
    assert note.is_file()

    def broken(*_: object) -> None:
        raise PermissionError(1, "no such luck")

    monkeypatch.setattr("verdigris.sandbox.entry.seal", broken)
    found = child.available()
    monkeypatch.setattr("verdigris.sandbox.child.available", functools.cache(lambda _: found))
    world.write("tests/test_ran.py", "open('ran', 'w').close()\n")
    with pytest.raises(HarnessError, match="no such luck"):
        world.test("tests/test_ran.py")
    assert not (world.root / "ran").exists()
    assert not note.exists()


@needs_sandbox
def test_a_way_that_no_longer_works_is_found_anew(world: World) -> None:
    world.test("tests/test_add.py")
    note = Path(rooms._note(world.project))
    known, *able = note.read_text().split("\0")

    note.write_text("\0".join((known, "nonsense", *able[1:])))
    assert world.test("tests/test_add.py").passed
    assert note.read_text().split("\0") == [known, *able]


@needs_sandbox
def test_an_editable_install_imports_the_candidate(tmp_path: Path) -> None:
    """`pip install -e` is a `.pth` that names the worktree's own path: there the room stands."""
    env = tmp_path / "env"
    venv.create(env, with_pip=False, symlinks=True)
    packages = next(env.glob("lib/python*/site-packages"))
    pytests = Path(pytest.__file__).parents[1]
    root = tmp_path / "repo"
    (packages / "editable.pth").write_text(f"{root / 'src'}\n{pytests}\n")
    world = make_world(root)
    config = CONFIG.replace(json.dumps(sys.executable), json.dumps(str(env / "bin/python")))
    world.write("tdd.yaml", config + "    source: [src]\n")
    world.write("src/minus.py", "def sub(a, b):\n    raise NotImplementedError  # STUB:TDD\n")
    world.write("tests/test_sub.py", TEST_SUB.replace("calc", "minus"))
    world.claimed(SUB_ID, "src/minus.py")
    world.write("src/minus.py", "def sub(a, b):\n    return a - b\n")
    assert world.settle().verdict.accepted


FORMATTER = """
import pathlib, sys
for name in (*sys.argv[1:], "tests/test_sub.py", "tdd.yaml", "left"):
    path = pathlib.Path(name)
    path.write_text((path.read_text().rstrip() if path.exists() else "") + "\\n# formatted\\n")
"""


@needs_sandbox
def test_of_a_formatters_work_only_the_turns_own_files_come_out_of_its_room(tmp_path: Path) -> None:
    config = f"    format: {sys.executable} tools/fmt\n"
    world = make_green_world(tmp_path / "repo", config, **{"tools/fmt": FORMATTER})
    world.write("calc.py", CALC + SUB)
    inode = (world.root / "calc.py").stat().st_ino
    assert world.settle().verdict.accepted
    assert world.read("calc.py") == CALC + SUB + "# formatted\n"
    assert (world.root / "calc.py").stat().st_ino == inode, "in place"
    assert world.read("tests/test_sub.py") == TEST_SUB
    assert "formatted" not in world.read("tdd.yaml")
    assert not (world.root / "left").exists()


KILLED = """
import sys
from pathlib import Path
from verdigris.core.records import Actor
from verdigris.storage.project import open_project
from verdigris.turns.test import run_tests
root = Path(sys.argv[1])
run_tests(open_project(root, Actor(client="test")), ("tests/test_slow.py",), cwd=root)
"""


@needs_sandbox
def test_a_killed_command_leaves_no_mounts_and_its_folder_is_swept(
    tmp_path: Path,
) -> None:
    world = make_world(tmp_path / "repo")
    place = world.project.repo.control / ROOMS
    world.write("tests/test_slow.py", "import time\n\n\ndef test_slow():\n    time.sleep(60)\n")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(world.root)])
    while not any(place.glob(f"{PREFIX}*/own/tmp")):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert any(place.glob(f"{PREFIX}*"))
    assert str(place) not in Path("/proc/self/mountinfo").read_text()
    world.test("tests/test_add.py")
    assert list(place.glob(f"{PREFIX}*")) == []


AS_NOBODY = """
import json, sys
from pathlib import Path
from verdigris.core.records import Actor
from verdigris.storage.project import open_project
from verdigris.setup.initialisation import initialise
from verdigris.turns.test import run_tests
root = Path(sys.argv[1])
initialise(root, Actor(client="test"))
report = run_tests(open_project(root, Actor(client="test")), (), cwd=root).report
print(json.dumps([report.sandbox, list(report.wrote), [r.status for r in report.results]]))
"""


@pytest.mark.skipif(bool(obstacle("own", plain_user=True)), reason="no plain user can confine here")
def test_as_a_plain_user(world: World, tmp_path: Path) -> None:
    python = interpreter(plain_user=True)
    env = {**os.environ, "TMPDIR": "/tmp", "PYTHONPATH": str(Path(pytest.__file__).parents[1])}
    if subprocess.run(
        [*as_nobody(), python, "-c", "import pytest, pygments"], env=env, check=False
    ).returncode:
        pytest.skip("no pytest that a plain user may execute")
    config = CONFIG.replace(json.dumps(sys.executable), json.dumps(python))
    world.write("tdd.yaml", f"{config}room: {{git: true}}\n")
    world.write("tests/test_writer.py", WRITER)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", str(tmp_path)], check=True)
    argv = [*as_nobody(), sys.executable, "-c", AS_NOBODY, str(world.root)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    kind, wrote, statuses = json.loads(done.stdout)
    assert (kind, sorted(statuses)) == ("overlay", ["fail", "pass"])
    assert "calc.py" in wrote
    assert world.read("calc.py") == CALC
