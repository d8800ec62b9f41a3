"""`tdd` inside an agent's shell, served outside of it."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import time

import pytest

from support.cage import as_nobody
from support.shelled import Shelled
from verdigris.core.events import TestRun
from verdigris.gates.broker import BrokerCall, unpack_call
from verdigris.storage.calls.callers import forget_caller, note_caller

SUB_TEST = """\
import sys
sys.path.insert(0, "src")
from pkg import code
def test_sub():
    assert code.sub(5, 3) == 2
"""


EVIL = """\
def test_evil():
    for name in ("tdd.yaml", ".git/tdd/events.jsonl"):
        try:
            with open(name, "a") as file:
                file.write("forged: 1\\n")
        except OSError:
            pass
"""


def test_what_only_reads_is_served_as_outside(shell: Shelled) -> None:
    done = shell.run("tdd status --json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["phase"] == "red"


def test_pipelines_and_folders(shell: Shelled) -> None:
    done = shell.run(
        "cd tests && tdd status | tail -1; echo ${PIPESTATUS[0]}; cd / && tdd status > /dev/null; echo $?"
    )
    assert done.out.splitlines()[-2:] == ["0", "0"]
    assert done.out.startswith("next: ")


PERSONS = ("off --why x", "on", "init --yes", "uninit", "revise a --why b", "holdout list")


def test_a_persons_verbs_are_refused_with_the_way_and_a_hook_is_not_served(shell: Shelled) -> None:
    calls = (*(f"tdd {call} 2>&1" for call in PERSONS), "echo '{}' | tdd hook claude 2>/dev/null")
    done = shell.run("\n".join((*(f"{call}; echo =$?=" for call in calls), "tdd --help")))
    *refused, hook, helped = done.out.split("=\n")
    assert len(refused) == len(PERSONS)
    for call, told in zip(PERSONS, refused, strict=True):
        assert told.endswith("=3"), call
        assert "persons-verb" in told, call
        assert "prompt" in told, call
    assert hook == "=3"
    assert "Usage: tdd" in helped


def test_without_the_broker_nothing_can_be_done(shell: Shelled) -> None:
    before = len(shell.world.events())
    forged = ("TDD_BROKER=", "TDD_BROKER=/nowhere/x", "env -u TDD_BROKER", "TDD_BROKER= TDD_ACTOR=person")
    done = shell.run("\n".join(f"{words} tdd off --why x && echo done" for words in forged))
    assert done.out == ""
    assert len(shell.world.events()) == before
    assert shell.world.state.phase == "red"


def test_a_repository_inside_is_not_taken_for_this_one(shell: Shelled) -> None:
    done = shell.run("mkdir nested && cd nested && git init -q && tdd status --json; rm -rf ../nested")
    assert json.loads(done.out)["worktree"] == "main"


def test_what_is_no_call_is_not_answered(shell: Shelled) -> None:
    code = """
import os, socket
os.chdir(os.path.dirname(os.environ["TDD_BROKER"]))
for junk in (b"", b"x" * 8, b"\\xff" * 8):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.path.basename(os.environ["TDD_BROKER"]))
    s.sendall(junk)
    s.shutdown(socket.SHUT_WR)
    print(s.recv(1))
"""
    done = shell.code(code)
    assert (done.out, done.err) == ("b''\n" * 3, "")
    assert shell.run("tdd status").code == 0


def test_calls_at_the_same_time(shell: Shelled) -> None:
    done = shell.run("for i in 1 2 3; do tdd status --json > out$i & done; wait; cat out?; rm out?")
    assert len(done.out.splitlines()) == 3


def test_a_call_survives_the_wire() -> None:
    call = BrokerCall(["test", "a\nb", "\udcff"], "/tmp/x y", {"CI": "1", "HOME": "/h", "TERM": "a=b"})
    again = unpack_call(call.pack())
    assert (again.argv, again.cwd, again.environment) == (call.argv, call.cwd, {"CI": "1", "TERM": "a=b"})


def test_the_kernel_runs_the_tests_as_an_agents(one: Shelled) -> None:
    done = one.run("tdd test -q | tail -3; echo ${PIPESTATUS[0]}", env={"CLAUDECODE": "1"})
    assert done.out.splitlines()[0].startswith("1 passed")
    assert done.out.endswith("\n0\n")
    last = list(one.world.project.log.records())[-1]
    assert (last.actor["role"], last.actor["client"]) == ("agent", "claude")


def test_a_call_that_outlives_its_subagent_stays_the_subagents(one: Shelled) -> None:
    """Otherwise whoever wrote the tests of a cycle could validate them later in the session's name."""
    command, private = "touch begun.md; sleep 1; tdd claim no::such", str(one.private)
    note_caller(private, "s1", command, "a1")
    running = one.start(command, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="s1")
    while not (one.root / "begun.md").exists():
        time.sleep(0.01)
    forget_caller(private, "a1")
    running.communicate(timeout=60)
    *_, last = one.world.project.log.records()
    assert (last.type, last.actor["client"], last.actor["context"]) == ("denied", "claude", "a1")


def test_a_red_is_claimed_and_then_the_test_is_frozen(one: Shelled) -> None:
    (one.root / "tests" / "test_sub.py").write_text(SUB_TEST)
    lines = [
        "tdd test tests/test_sub.py >/dev/null; echo $?",
        "tdd claim tests/test_sub.py::test_sub src/pkg/code.py >/dev/null; echo $?",
    ]
    assert one.run("\n".join(lines)).out == "1\n0\n"
    done = one.run(
        "echo '# weaker' >> tests/test_sub.py\n"
        "printf '\\ndef sub(a, b):\\n    return a - b\\n' >> src/pkg/code.py\n"
        "tdd settle"
    )
    assert "Read-only" in done.err
    assert (done.code, "accepted" in done.out) == (0, True)
    assert one.world.events(TestRun)


def test_an_agent_has_its_stubs_written(one: Shelled) -> None:
    text = SUB_TEST.replace("import code", "import money").replace("code.sub(5, 3)", "money.total([2])")
    (one.root / "tests" / "test_money.py").write_text(text)
    done = one.run("tdd stub tests/test_money.py && tdd test tests/test_money.py")
    assert "src/pkg/money.py (new):" in done.out
    assert "fail tests/test_money.py::test_sub  red: valid" in done.out


def test_an_interrupted_caller_interrupts_its_call(one: Shelled) -> None:
    one.world.write("tests/test_slow.py", "import time\ndef test_slow():\n    time.sleep(60)\n")
    with one.start("timeout -s KILL 3 tdd test tests/test_slow.py") as process:
        process.communicate(timeout=60)
    deadline = time.monotonic() + 60
    lock = one.world.project.repo.lock("operation")
    while time.monotonic() < deadline:
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
    else:
        pytest.fail("the call outside goes on")
    (one.root / "tests/test_slow.py").unlink()
    assert process.returncode == 128 + signal.SIGKILL


def test_what_a_test_writes_while_the_broker_has_it_run_has_no_effect(one: Shelled) -> None:
    (one.root / "tests" / "test_evil.py").write_text(EVIL)
    before = (one.root / "tdd.yaml").read_bytes(), one.world.state.phase
    one.run("tdd test tests/test_evil.py")
    (one.root / "tests" / "test_evil.py").unlink()
    assert ((one.root / "tdd.yaml").read_bytes(), one.world.state.phase) == before
    assert one.world.whole()


def test_a_call_sees_no_socket_but_its_own(one: Shelled) -> None:
    with one.start("touch open.md; until [ -e end.md ]; do sleep 0.01; done") as other:
        while not (one.root / "open.md").exists():
            time.sleep(0.01)
        done = one.run(
            f'ls "$(dirname $TDD_BROKER)"; ls {one.private}/sockets; tdd status | head -1 | cut -c1-5'
        )
        (one.root / "end.md").touch()
        other.communicate(timeout=60)
    assert (done.out, done.err) == ("broker\nbroker\nphase\n", "")
    assert list((one.private / "sockets").iterdir()) == []


def test_the_kernel_says_who_calls(one: Shelled) -> None:
    """A process that has got at the socket of another's call is not served."""
    command = "touch held.md; until [ -e over.md ]; do sleep 0.01; done; tdd status > mine.md"
    with one.start(command) as call:
        while not (one.root / "held.md").exists():
            time.sleep(0.01)
        (socket,) = (one.private / "sockets").glob("*/broker")
        person = subprocess.run(
            [*(as_nobody() if one.plain_user else ()), str(one.folder / "bin/tdd"), "status"],
            cwd=one.root,
            env=one.environment | {"TDD_BROKER": str(socket)},
            capture_output=True,
            text=True,
            check=False,
        )
        (one.root / "over.md").touch()
        call.communicate(timeout=60)
    assert (person.returncode, person.stdout) == (69, ""), person
    assert (one.root / "mine.md").read_text().startswith("phase red")
