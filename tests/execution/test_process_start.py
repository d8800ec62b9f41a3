"""What a spawned program is given, and what is said where it cannot be; the rest is in test_process."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1

import pytest

from verdigris.core.errors import ToolMissing
from verdigris.execution.process import Command, Finished, run
from verdigris.execution.room import Room, Sandbox, Terms
from verdigris.sandbox import child
from verdigris.sandbox.child import Confining

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def ran(tmp_path: Path, *argv: str) -> Finished:
    return run(Command(argv, tmp_path, {"PATH": os.environ["PATH"]}, "CHANNEL"), timeout=60)


@linux_only
def test_it_has_no_descriptor_but_the_standard_ones_and_its_channel(tmp_path: Path) -> None:
    ours = os.dup(0)
    os.set_inheritable(ours, True)
    try:
        output = ran(tmp_path, "sh", "-c", "ls /proc/$$/fd; echo $CHANNEL").output.split()
    finally:
        os.close(ours)
    *descriptors, channel = map(int, output)
    assert sorted(descriptors) == [0, 1, 2, channel]


@linux_only
def test_it_neither_ignores_nor_blocks_a_signal_whatever_we_do(tmp_path: Path) -> None:
    """`nohup` and a shell's `&` ignore some for us: what a test does with them must not hang on that."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (SIGINT, SIGHUP, SIGQUIT, SIGTERM)}
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {SIGUSR1})
    try:
        output = ran(tmp_path, "grep", "-E", "SigIgn|SigBlk", "/proc/self/status").output
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number, handler in before.items():
            signal.signal(number, handler)
    _, blocked_there, _, ignored_there = output.split()
    ours = sum(1 << number - 1 for number in signal.valid_signals())  # not those of the C library
    assert [int(mask, 16) & ours for mask in (blocked_there, ignored_there)] == [0, 0]


def test_a_word_that_cannot_be_given(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="Invalid argument"):
        ran(tmp_path, "echo", "a\0b")


@pytest.mark.skipif(child.available().way != "mapped", reason="only root has others set its ids")
def test_ids_that_cannot_be_set_keep_it_from_running(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    found = child.available()
    terms = Terms(
        str(root), str(tmp_path / "control"), Sandbox(found.way, processes=found.processes), "host", ()
    )
    with closing(Room(terms, ())) as room:
        assert isinstance(room.confine, Confining)
        room.confine.ids["uid_map"] = "nonsense"
        finished = run(Command(("echo", "ran"), root, room.env, confine=room.confine), timeout=60)
    why = child.refusal(finished.exit_code, finished.output)
    assert why == "ids: its ids could not be set"
