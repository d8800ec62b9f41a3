"""A process that cannot be looked at may be a call's, and counts as living; only a proven one is killed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

APART = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount")
"""What is signalled here by mistake is of this test's own process table."""
START = """
import ctypes, json, os, subprocess, sys, time
from verdigris.sandbox import processes
from verdigris.sandbox.syscalls import PR_SET_NO_NEW_PRIVS, drop_all_but, prctl

assert os.getpid() == 1, "not without a process table of its own"
PR_SET_DUMPABLE = 4

def start(*, bound, hidden, apart):
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        if apart: os.unshare_(0x00020000)
        if bound: prctl(PR_SET_NO_NEW_PRIVS, 1)
        if hidden: prctl(PR_SET_DUMPABLE, 0)
        os.write(tell, b".")
        time.sleep(600)
    os.read(ready, 1)
    return pid

def lives(pid):
    time.sleep(0.1)
    return os.waitpid(pid, os.WNOHANG) == (0, 0)

def namespace(pid, kind="mnt"):
    return f"{kind} {os.stat(f'/proc/{pid}/ns/{kind}').st_ino}"

from verdigris.sandbox.syscalls import unshare
os.unshare_ = unshare
"""


def run(code: str) -> list[object]:
    tried = subprocess.run([*APART, "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip(f"no namespaces: {tried.stderr.decode()}")
    argv = [*APART, sys.executable, "-c", START + code]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_one_that_cannot_be_looked_at_lives_and_is_not_killed() -> None:
    code = """
hidden = start(bound=True, hidden=True, apart=False)
drop_all_but(frozenset())
try: os.stat(f"/proc/{hidden}/ns/mnt"); seen = True
except OSError: seen = False
living = processes.living({"mnt 1"}, kept=False)
print(json.dumps([seen, living == {"mnt 1"}, processes.kill("mnt 1"), lives(hidden)]))
"""
    assert run(code) == [False, True, 0, True]


def test_below_a_keeper_it_lives_too_and_elsewhere_it_is_no_doubt() -> None:
    code = """
hidden = start(bound=True, hidden=True, apart=False)
keeper, other = processes.identity(1), processes.identity(hidden)
drop_all_but(frozenset())
said = [processes.may_hide("mnt 1", keeper), processes.may_hide("mnt 1", other)]
print(json.dumps([*said, len(processes.living({"mnt 1"}, kept=True)), lives(hidden)]))
"""
    assert run(code) == [True, False, 0, True]


def test_one_of_the_namespace_is_killed_and_no_other() -> None:
    code = """
calls = start(bound=True, hidden=False, apart=True)
others = start(bound=True, hidden=False, apart=True)
ours = start(bound=True, hidden=False, apart=False)
print(json.dumps([processes.kill(namespace(calls)), lives(calls), lives(others), lives(ours)]))
"""
    assert run(code) == [1, False, True, True]


def test_one_with_the_same_number_of_a_namespace_is_not_a_calls() -> None:
    """The kernel gave the number again: to a process that may gain rights, or is not of the keeper's."""
    code = """
free = start(bound=False, hidden=False, apart=True)
bound = start(bound=True, hidden=False, apart=True)
keeper = processes.identity(bound)
said = [processes.living({namespace(free)}, kept=True) == {namespace(free)}]
said += [processes.kill(namespace(free)), processes.kill(namespace(bound), keeper)]
processes.kill_all(keeper)
print(json.dumps([*said, lives(free), lives(bound)]))
"""
    assert run(code) == [True, 0, 0, True, True]


@pytest.mark.parametrize("named", ["", "1 2", "4194305 7"])
def test_without_a_keeper_or_a_name_nobody_is_killed(named: str) -> None:
    code = f"""
one = start(bound=True, hidden=False, apart=True)
processes.kill_all({named!r} or "0 0")
print(json.dumps([processes.kill(""), processes.kill(namespace(one), {named!r} or "1 0"), lives(one)]))
"""
    assert run(code) == [0, 0, True]
