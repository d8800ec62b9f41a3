"""What a call promised to undo is undone, whoever was killed: by its guard, or by whoever comes next."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from verdigris.core.records import Actor
from verdigris.sandbox import processes
from verdigris.storage.calls import call_records, open_calls
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from support.shelled import Shelled

POINTER = ".git/commondir"


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill_all_that_serve(process: subprocess.Popen[bytes]) -> None:
    """The process outside, and its guard: stopped first, so that neither sees the other's end."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    served = [process.pid, *map(int, children)]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in served:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
    process.communicate()


def run_until_killed(shell: Shelled, command: str, kill: Callable[[subprocess.Popen[bytes]], None]) -> None:
    ready = shell.root / "ready"
    with shell.start(f"{command}; touch ready; sleep 60") as process:
        until(ready.exists)
        kill(process)
    ready.unlink()


LATER = "(setsid sh -c 'while :; do echo /evil > .git/commondir; sleep 0.01; done' >/dev/null 2>&1 &)"


def next_call(shell: Shelled) -> None:
    shell.run("true")


def next_verb(shell: Shelled) -> None:
    open_project(shell.root, Actor("person"))


def stays_away(shell: Shelled) -> None:
    seen = shell.root / POINTER
    seen.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not seen.exists()


@pytest.mark.parametrize("comes", [next_call, next_verb])
def test_whoever_comes_next_finishes_a_call_of_which_all_were_killed(
    one: Shelled, comes: Callable[[Shelled], None]
) -> None:
    private = str(one.private)  # who asks a project for it is one that comes next
    run_until_killed(one, LATER, kill_all_that_serve)
    until((one.root / POINTER).exists)
    assert open_calls.open_call(private) is None, "nobody serves it"
    assert open_calls.alive(private)
    comes(one)
    assert not (one.root / POINTER).exists()
    assert not open_calls.alive(private)
    stays_away(one)
    open_calls.forget_ended(private)


CHAIN = "import os, time\nwhile True:\n    if os.fork(): os._exit(0)\n    time.sleep(0.0005)\n"


def test_processes_that_start_faster_than_they_are_killed_end_together(one: Shelled) -> None:
    (one.root / "chain.py").write_text(CHAIN)
    private = str(one.private)
    run_until_killed(one, f"(setsid {one.python} -I -S chain.py >/dev/null 2>&1 &)", kill_all_that_serve)
    keeper = Path(call_records.keeper_of(private)).read_text()
    assert open_calls.alive(private)
    next_call(one)
    assert not open_calls.alive(private)
    until(lambda: not processes.is_there(keeper))
    open_calls.forget_ended(private)


def test_nor_do_they_keep_gits_folder_in_mounts_of_their_own(one: Shelled) -> None:
    (one.root / "chain.py").write_text(CHAIN)
    one.run(f"(setsid unshare -Urm {one.python} -I -S chain.py >/dev/null 2>&1 &); sleep 0.3")
    keeper = Path(call_records.keeper_of(str(one.private))).read_text()
    until(lambda: not processes.is_there(keeper))
    assert not call_records.names(str(one.private))
    (one.root / "chain.py").unlink()


def test_the_guard_finishes_it_at_once(one: Shelled) -> None:
    run_until_killed(one, LATER, lambda process: process.kill())
    until(lambda: open_calls.open_call(str(one.private)) is None)
    assert not (one.root / POINTER).exists()
    assert not open_calls.alive(str(one.private))
    stays_away(one)
    (record,) = call_records.read_all(str(one.private))
    assert record.finished
    assert open_calls.forget_ended(str(one.private)), "a look at the tree still learns whose it was"


def test_a_signal_to_its_own_group_reaches_nobody_outside(one: Shelled) -> None:
    done = one.run("trap '' TERM; kill -TERM 0; kill -TERM $PPID; echo lives")
    assert (done.code, done.out) == (0, "lives\n")
    assert one.run("kill -9 $PPID; sleep 1").code == 128 + signal.SIGKILL
    assert not call_records.names(str(one.private))


def test_an_agent_cannot_lock_a_person_out_of_git(one: Shelled) -> None:
    done = one.run("touch .git/index.lock; chmod 000 .git/objects .git/index")
    one.world.repo.git("status", "--short")
    assert not (one.root / ".git/index.lock").exists()
    assert done.err.count("has its mode back") == 2
    assert "index.lock was removed" in done.err


ENDED_LEADER = """
import ctypes, os, sys, threading, time
if os.fork(): os._exit(0)
os.setsid()
for stream in range(3): os.close(stream)
def work():
    time.sleep(0.2)
    open("seen", "w").close()
    while not os.path.exists("end"): time.sleep(0.02)
    os._exit(0)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def test_a_process_whose_first_thread_has_ended_lives(one: Shelled) -> None:
    one.code(ENDED_LEADER)
    until((one.root / "seen").exists)
    assert open_calls.alive(str(one.private))
    assert [command for _, command in open_calls.open_shells(str(one.private))]
    (one.root / "end").touch()
    until(lambda: not open_calls.alive(str(one.private)))
    open_calls.forget_ended(str(one.private))
    for name in ("seen", "end"):
        (one.root / name).unlink()


SIBLING = """
import ctypes, os, platform, time
clone, CLONE_PARENT, SIGCHLD = {{"x86_64": 56, "aarch64": 220}}[platform.machine()], 0x8000, 17
def leave(): return ctypes.CDLL(None).syscall(clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if leave(): os._exit(0)
os.setsid()
for fd in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), fd)
while {again}:
    if leave(): os._exit(0)
    time.sleep(0.0005)
time.sleep(0.3)
open(".git/commondir", "w").write("/evil")
time.sleep(60)
"""


@pytest.mark.parametrize("again", [False, True])
def test_a_process_that_its_shell_made_a_sibling_of_its_own_ends_with_the_call(
    one: Shelled, *, again: bool
) -> None:
    (one.root / "sibling.py").write_text(SIBLING.format(again=again))
    assert one.run(f"exec {one.python} -I -S sibling.py").code == 0
    assert not open_calls.alive(str(one.private))
    time.sleep(0.5)
    assert not (one.root / POINTER).exists()
    keeper = Path(call_records.keeper_of(str(one.private))).read_text()
    until(lambda: not processes.is_there(keeper))
    (one.root / "sibling.py").unlink()


def test_the_keeper_goes_with_the_last_process(one: Shelled) -> None:
    one.run("sleep 0.3 >/dev/null 2>&1 &")
    keeper = Path(call_records.keeper_of(str(one.private))).read_text()
    assert processes.is_there(keeper)
    until(lambda: not processes.is_there(keeper))
    assert not Path(call_records.keeper_of(str(one.private))).read_text(), "nobody begins with one that goes"
    assert one.run("echo new").out == "new\n"
    assert Path(call_records.keeper_of(str(one.private))).read_text() != keeper
    open_calls.forget_ended(str(one.private))


def test_calls_that_begin_at_once_share_what_they_see(one: Shelled) -> None:
    with one.start("exec -a first sleep 60") as first, one.start("exec -a second sleep 60") as second:
        until(lambda: "first" in (seen := one.run("ps ax -o args").out) and "second" in seen)
        for process in (first, second):
            process.terminate()
            process.communicate()
    assert not call_records.names(str(one.private))
