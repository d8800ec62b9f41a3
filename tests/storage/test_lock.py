from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from verdigris.core.errors import StorageError, UserError
from verdigris.storage import lock
from verdigris.storage.lock import hold_lock, is_held

HOLDER = """
import sys, pathlib
from verdigris.storage.lock import hold_lock
with hold_lock(pathlib.Path(sys.argv[1]), wait=None):
    print("held", flush=True)
    sys.stdin.read()
"""
PARENT_OF_AN_ORPHAN = """
import os, sys, pathlib, subprocess
from verdigris.storage.lock import hold_lock
with hold_lock(pathlib.Path(sys.argv[1]), wait=None) as descriptor:
    child = subprocess.Popen(["cat"], pass_fds=(descriptor,))
    print(child.pid, flush=True)
    os.kill(os.getpid(), 9)
"""


def test_whether_a_lock_is_held_can_be_asked_without_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    assert not path.exists()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_held(path)
    assert not is_held(path)


def test_a_lock_can_be_taken_again_after_it_was_let_go(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "lock"
    with hold_lock(path, wait=0):
        pass
    with hold_lock(path, wait=None):
        assert path.read_text() == f"{os.getpid()}\n"


def test_waiting_in_vain_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match=f"process {holder.pid}") as caught, hold_lock(path, wait=0.02):
            pass
        assert caught.value.hint
        assert "-c" in caught.value.message, "its command"
        holder.communicate(b"")
    with hold_lock(path, wait=0):
        pass


def test_an_inherited_lock_outlives_its_killed_parent(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    argv = [sys.executable, "-c", PARENT_OF_AN_ORPHAN, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        assert parent.stdin
        int(parent.stdout.readline())
        parent.wait()
        with pytest.raises(UserError), hold_lock(path, wait=0):
            pass
        parent.stdin.close()
    with hold_lock(path, wait=None):
        pass


def test_a_lock_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="lock"), hold_lock(tmp_path / "file" / "lock", wait=0):
        pass


def test_a_longer_wait_says_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lock, "SILENT_SECONDS", 0.05)
    path = tmp_path / "operation"
    with subprocess.Popen(
        ["flock", path, "sh", "-c", "echo held; sleep 0.4"], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline() == b"held\n"
        with hold_lock(path):
            pass
    told = capfd.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"tdd: waiting for process {other.pid} (flock {path}"[:70])
    assert told.endswith("to end (it holds the lock `operation`)\n")


def test_a_hook_waits_no_longer_than_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_deadline", None)
    path = tmp_path / "operation"
    lock.answer_within(0.05)
    with (
        hold_lock(path),
        pytest.raises(
            UserError, match=f"process {os.getpid()} .* is at work here \\(it holds the lock `operation`\\)"
        ),
        hold_lock(path, wait=60),
    ):
        pass


FULL = """
import pathlib, resource, signal, sys
from verdigris.storage.lock import hold_lock
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
with hold_lock(pathlib.Path(sys.argv[1])):
    print("held")
"""


def test_a_disk_on_which_nothing_can_be_written_is_no_hindrance(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "lock"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("held\n", "")


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (
            ["/x/bin/python3", "-I", "-S", "/p/verdigris/gates/entry.py", "claude", "Stop"],
            "hook claude Stop",
        ),
        (["/opt/x/bin/python", "/opt/x/bin/tdd", "settle", "--json"], "tdd settle --json"),
        (["/usr/bin/python3.11", "-m", "verdigris", "test", "a b"], "tdd test a b"),
        (["/usr/bin/make", "test"], "make test"),
        (["tdd", "x" * 90], f"tdd {'x' * 55}…"),
        ([""], ""),
    ],
)
def test_a_holder_is_named_in_short(argv: list[str], shown: str) -> None:
    assert lock.shorten(argv) == shown
