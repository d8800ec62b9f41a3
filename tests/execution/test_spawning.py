"""What a spawned program is given, and what is said where it cannot be; the rest is in test_process."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from signal import SIGPIPE, SIGXFSZ
from typing import TYPE_CHECKING

import pytest

from verdigris import sandbox
from verdigris.core.errors import ToolMissing
from verdigris.execution.process import Command, run
from verdigris.execution.room.room import Room, Terms
from verdigris.sandbox.child import Confining

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.execution.process import Finished

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
def test_it_does_not_ignore_what_our_interpreter_does(tmp_path: Path) -> None:
    ignored = int(ran(tmp_path, "grep", "SigIgn", "/proc/self/status").output.split()[1], 16)
    assert [number for number in (SIGPIPE, SIGXFSZ) if ignored >> (number - 1) & 1] == []


def test_a_word_that_cannot_be_given(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="Invalid argument"):
        ran(tmp_path, "echo", "a\0b")


@pytest.mark.skipif(sandbox.available().way != "mapped", reason="only root has others set its ids")
def test_ids_that_cannot_be_set_keep_it_from_running(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    found = sandbox.available()
    with closing(Room(Terms(str(root), str(root), (found.way, found.place), "host", ()), ())) as room:
        assert isinstance(room.confine, Confining)
        room.confine.ids["uid_map"] = "nonsense"
        finished = run(Command(("echo", "ran"), root, room.env, confine=room.confine), timeout=60)
    why = sandbox.refusal(finished.exit_code, finished.output)
    assert why == "ids: its ids could not be set"
