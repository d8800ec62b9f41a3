"""The life of a resident, with a program that says back what it hears."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.warming import until
from verdigris.execution.resident import resident
from verdigris.execution.resident.resident import (
    Resident,
    ResidentProgram,
    connect,
    end,
    ensure,
    is_running,
    read_note,
    stop,
)
from verdigris.execution.room import Sandbox, Terms
from verdigris.sandbox import child
from verdigris.sandbox.syscalls import enter_namespaces, mount

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

PROGRAM = """
import json, os, socket, sys, time
line = socket.socket(fileno=int(os.environ["VERDIGRIS_RESIDENT"]))
stream = line.makefile("r", encoding="utf-8")
def say(**message):
    line.sendall(json.dumps({**message, "beside": 0}).encode() + b"\\n")
greeting = json.loads(stream.readline())
say(ready=True)
for text in stream:
    heard = json.loads(text)
    if heard.get("die"):
        sys.exit(3)
    say(pid=os.getpid(), greeting=greeting, **{k: v for k, v in heard.items() if k != "beside"})
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERDIGRIS_WARM", "1")
    made = tmp_path / "repo"
    (made / ".git" / "tdd" / "worktrees" / "main").mkdir(parents=True)
    return made


@pytest.fixture
def private(root: Path) -> Iterator[str]:
    folder = root / ".git" / "tdd" / "worktrees" / "main"
    yield str(folder)
    stop(str(folder))


def described(private: str, key: str = "one", **fields: Any) -> Resident:
    root = Path(private).parents[3]
    found = child.available()
    terms = Terms(str(root), str(root / ".git/tdd"), Sandbox(found.way, found.disk), "none", ())
    argv = (sys.executable, "-I", "-S", "-c", PROGRAM)
    program = ResidentProgram(terms, argv, str(root), fields.pop("env", None))
    return Resident(resident.folder_of(private, "echo"), key, program, **fields)


def started(private: str, key: str = "one", **fields: Any) -> str:
    made = described(private, key, **fields)
    ensure(made)
    until(
        lambda: read_note(made.folder).get("ready") and read_note(made.folder).get("key") == key, "not ready"
    )
    return made.folder


def asked(folder: str, key: str = "one", **message: Any) -> dict[str, Any] | None:
    found = connect(folder, key)
    if found is None:
        return None
    line, user = found
    try:
        line.send(message)
        answer = line.receive(10)
        return None if answer is None else answer[0]
    finally:
        os.close(user)
        line.close()


def answered(folder: str, key: str = "one", **message: Any) -> dict[str, Any]:
    """Once the last caller's end has been taken notice of."""
    found: list[dict[str, Any] | None] = [None]

    def got() -> bool:
        found[0] = asked(folder, key, **message)
        return found[0] is not None

    until(got, "no answer")
    assert found[0] is not None
    return found[0]


def keeper(folder: str) -> int:
    return int(Path(folder, "lock").read_text())


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_one_process_answers_caller_after_caller(private: str) -> None:
    folder = started(private)
    first, second = answered(folder, word="a"), answered(folder, word="b")
    assert (first["word"], second["word"]) == ("a", "b")
    assert first["pid"] == second["pid"] != os.getpid()


def test_the_program_is_greeted_first(private: str) -> None:
    assert answered(started(private, greeting={"argv": ["a"]}))["greeting"] == {"argv": ["a"], "beside": 0}


def test_what_a_caller_leaves_is_held_beyond_its_end_and_not_for_long(private: str) -> None:
    folder = started(private)
    answered(folder)
    found = connect(folder, "one")
    assert found is not None
    line, user = found
    read, write = os.pipe()
    line.send({"leave": True}, (write,))
    line.send({"word": "a"})
    answer = line.receive(10)
    assert answer is not None
    assert answer[0]["word"] == "a", "the program hears nothing of it"
    for number in (user, write):
        os.close(number)
    line.close()
    assert select.select([read], [], [], 0.2)[0] == [], "it was closed at once"
    assert select.select([read], [], [], 20)[0] == [read]
    os.close(read)


def test_what_one_caller_leaves_is_closed_before_the_next_has_its_answer(private: str) -> None:
    folder = started(private)
    read, write = os.pipe()
    found = connect(folder, "one")
    assert found is not None
    line, user = found
    line.send({"leave": True}, (write,))
    for number in (user, write):
        os.close(number)
    line.close()
    answered(folder)
    assert select.select([read], [], [], 0)[0] == [read]
    os.close(read)


def test_where_none_was_started_nobody_answers(private: str) -> None:
    assert connect(resident.folder_of(private, "echo"), "one") is None


def test_another_key_ends_it_and_one_of_that_key_can_be_had(private: str) -> None:
    folder = started(private)
    pid = answered(folder)["pid"]
    assert connect(folder, "two") is None
    until(lambda: not is_running(folder) and not alive(pid), "it goes on")
    started(private, "two")
    assert answered(folder, "two")["pid"] != pid


def test_two_who_want_one_get_one(private: str) -> None:
    made = described(private)
    for _ in range(2):
        ensure(made)
        assert is_running(made.folder), "from the very beginning"
    first = keeper(made.folder)
    folder = started(private)
    assert keeper(folder) == first
    assert answered(folder, word="a")["word"] == "a"


def test_one_that_only_begins_can_be_ended(private: str) -> None:
    made = described(private)
    ensure(made)
    assert stop(private) == ("echo",)
    until(lambda: not is_running(made.folder), "it goes on")


def test_while_one_speaks_with_it_nobody_else_is_let_in(private: str) -> None:
    folder = started(private)
    found = connect(folder, "one")
    assert found is not None
    assert connect(folder, "one") is None
    found[0].close()
    os.close(found[1])
    answered(folder)


def test_it_ends_when_idle(private: str) -> None:
    folder = started(private, idle=0.2)
    until(lambda: not is_running(folder), "it goes on")
    assert not Path(folder, "socket").exists()


def test_it_ends_with_its_repository(private: str, root: Path) -> None:
    folder = started(private, idle=30)
    pid, program = keeper(folder), answered(folder)["pid"]
    shutil.rmtree(root)
    until(lambda: not alive(pid) and not alive(program), "it goes on")


def test_its_file_system_can_be_unmounted_at_once_and_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person takes the disk with the repository away, right after a command."""
    monkeypatch.setenv("VERDIGRIS_WARM", "1")
    tester = os.fork()
    if tester == 0:
        code = 3
        try:
            code = _unmount_below_a_resident(tmp_path)
        except BaseException as error:  # noqa: BLE001 - this process is a fork of pytest's
            os.write(2, f"{error!r}\n".encode())
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(tester, 0)[1])
    if code == NOTHING_MOUNTED:
        pytest.skip("no file system can be mounted here")
    assert code == 0


NOTHING_MOUNTED = 42


def _unmount_below_a_resident(disk: Path) -> int:
    """0 if it could be unmounted, and the resident ended although it may be idle for much longer."""
    try:
        enter_namespaces(own_ids=os.geteuid() != 0)
        mount("tmpfs", str(disk), "tmpfs", 0)
    except OSError:
        return NOTHING_MOUNTED
    private = disk / "repo/.git/tdd/worktrees/main"
    private.mkdir(parents=True)
    folder = started(str(private), idle=600)
    pid, program = keeper(folder), answered(folder)["pid"]
    done = subprocess.run(["umount", disk], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        end(folder)
        os.write(2, done.stderr.encode())
        return 1
    until(lambda: not alive(pid) and not alive(program), "it goes on", seconds=5)
    return 0


def test_the_program_dies_with_its_keeper_and_the_other_way_round(private: str) -> None:
    folder = started(private)
    pid, program = keeper(folder), answered(folder)["pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(program), "it goes on")
    assert connect(folder, "one") is None
    started(private, "two")
    assert asked(folder, "two", die=True) is None
    until(lambda: not is_running(folder), "it goes on")


def test_stop_names_what_ran(private: str) -> None:
    folder = started(private)
    pid = keeper(folder)
    assert stop(private) == ("echo",)
    assert not is_running(folder)
    until(lambda: not alive(pid), "it goes on")
    assert stop(private) == ()


def test_one_that_does_not_listen_is_killed(private: str) -> None:
    folder = started(private)
    pid, program = keeper(folder), answered(folder)["pid"]
    os.kill(pid, signal.SIGSTOP)
    end(folder)
    until(lambda: not alive(pid) and not alive(program), "it goes on")


def test_the_variable_switches_it_off(private: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = started(private)
    monkeypatch.setenv("VERDIGRIS_WARM", "0")
    assert connect(folder, "one") is None
    ensure(described(private, "two"))
    assert read_note(folder)["key"] == "one"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a mount namespace alone")
def test_whoever_sees_the_machine_otherwise_is_not_listened_to(private: str) -> None:
    """As an agent's shell does: it may reach the socket, since to connect is not to write."""
    folder = started(private)
    child = os.fork()
    if child == 0:
        code = 3
        try:
            enter_namespaces(own_ids=False)
            code = 1 if connect(folder, "one") else 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert answered(folder, word="a")["word"] == "a"


def test_nonsense_from_a_caller_or_none_at_all_is_no_matter(private: str) -> None:
    folder = started(private)
    line = resident._call_keeper(folder)
    line.connection.sendall(b"nonsense\n")
    line.close()
    resident._call_keeper(folder).close()
    assert answered(folder, word="a")["word"] == "a"
