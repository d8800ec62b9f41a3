"""A run in a process table of its own: how it ends, what it sees and leaves, and who can look into it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from support.warming import until
from verdigris.core.errors import ToolMissing
from verdigris.execution.process import Command, Finished, run
from verdigris.execution.room import Room, Sandbox, Terms
from verdigris.sandbox import child

pytestmark = pytest.mark.skipif(not child.available().processes, reason="no process table can be made here")


def ran(folder: Path, *argv: str, timeout: float = 60) -> Finished:
    root = folder / "root"
    root.mkdir(exist_ok=True)
    found = child.available()
    sandbox = Sandbox(found.way, found.disk, found.processes)
    with closing(Room(Terms(str(root), str(folder / "control"), sandbox, "none", ()), argv)) as room:
        return run(Command(argv, root, room.env, confine=room.confine), timeout=timeout)


def sh(folder: Path, text: str, timeout: float = 60) -> Finished:
    return ran(folder, "/bin/sh", "-c", text, timeout=timeout)


@pytest.mark.parametrize("code", [0, 1, 7, 126, 255])
def test_it_ends_with_the_programs_code(tmp_path: Path, code: int) -> None:
    done = sh(tmp_path, f"exit {code}")
    assert (done.exit_code, done.signal, done.timed_out) == (code, None, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_it_ends_by_the_programs_signal(tmp_path: Path, number: signal.Signals) -> None:
    done = sh(tmp_path, f"kill -{number:d} $$")
    assert (done.exit_code, done.signal) == (None, number)


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="cannot be found"):
        ran(tmp_path, "there-is-no-such-program")


def test_it_sees_its_own_processes_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = (
        "import os; print(os.getpid(), os.getsid(0), sorted(n for n in os.listdir('/proc') if n.isdigit()))"
    )
    assert ran(tmp_path, sys.executable, "-I", "-c", code).output == b"2 2 ['1', '2']\n"


def test_it_cannot_end_the_process_that_judges_it(tmp_path: Path) -> None:
    done = sh(tmp_path, f"kill -KILL {os.getpid()} 1; kill -KILL -1; echo went on")
    assert done.output.endswith(b"went on\n")
    assert done.exit_code == 0


def test_nobody_looks_into_the_memory_of_the_first_process(tmp_path: Path) -> None:
    """It is a fork of the command that judges: held-out texts are in it."""
    done = sh(tmp_path, "for name in mem environ maps fd/0; do cat /proc/1/$name; done > /dev/null; exit 3")
    assert done.exit_code == 3
    assert done.output.count(b"Permission denied") == 4


def test_a_detached_process_ends_with_the_run(tmp_path: Path) -> None:
    mark = f"verdigris-left-{os.getpid()}-{time.monotonic_ns()}"
    done = sh(tmp_path, f"setsid sh -c 'exec sleep 300 # {mark}' > /dev/null 2>&1 & sleep 0.1; echo done")
    assert done.output == b"done\n"
    assert (
        mark not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    )


def test_orphans_are_reaped(tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(20):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(0.2)
left = [n for n in os.listdir("/proc") if n.isdigit() and "Z (zombie)" in open(f"/proc/{n}/status").read()]
print(left)
"""
    assert ran(tmp_path, sys.executable, "-I", "-c", code).output == b"[]\n"


def test_a_program_that_takes_too_long_may_end_itself_and_is_then_killed(tmp_path: Path) -> None:
    polite = sh(tmp_path, "trap 'echo asked; exit 3' TERM; sleep 300 & wait", timeout=0.5)
    assert (polite.timed_out, polite.exit_code, polite.output) == (True, 3, b"asked\n")
    stubborn = sh(tmp_path, "trap '' TERM; while :; do sleep 1; done", timeout=0.5)
    assert (stubborn.timed_out, stubborn.exit_code) == (True, None)


KILLED = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from sandbox.test_process_table import sh
sh(Path(sys.argv[1]), "touch /proc/self/comm; setsid sleep 301 & exec sleep 302")
"""


def test_it_ends_when_the_process_that_judges_is_killed(tmp_path: Path) -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    judge = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), tests])

    def alive() -> bool:
        shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        return "\nsleep 301" in shown or "\nsleep 302" in shown

    until(alive, "it does not begin")
    judge.kill()
    judge.wait()
    until(lambda: not alive(), "it goes on")
