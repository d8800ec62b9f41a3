"""Starts the runner's program in a fork of an interpreter that has the test tool loaded: a third of the time.

The process looks as if it had been started: it is a child of ours, in a session of its own, with the given
variables, folder and files, and it runs the product's own program from the first line. It gets the run as a
process with a head start does, so it declines if a module of the project has the name of a loaded one. There
is one prepared interpreter for each set of variables that an interpreter reads when it starts. On other
systems than Linux a run starts cold.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.execution.children import Child, Started
from verdigris.runners.python import BOOTSTRAP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.execution.process import Command

EAGER = "VERDIGRIS_EAGER"
DECLINED = b'"kind": "declined"'
_CLONE = {"x86_64": 56, "aarch64": 220}
"""The number of the system call with which a child of the prepared process becomes a child of ours."""
_PROGRAM = """
import ctypes, gc, json, os, signal, socket, sys, types
bootstrap, line, number = sys.argv[1], socket.socket(fileno=int(sys.argv[2])), int(sys.argv[3])
CLONE_PARENT, PR_SET_PDEATHSIG = 0x8000, 1
sys.path[0] = os.path.dirname(bootstrap)
from verdigris_reporter import channel, code_loading, files, tracing, uses
if sys.argv[4] == "unittest":
    from verdigris_reporter.cases import run
else:
    import pytest  # and not our plugin, which asks when it is loaded what the run is
with open(bootstrap, encoding="utf-8") as source:
    code = compile(source.read(), bootstrap, "exec")
call = ctypes.PyDLL(None)

def become(words, cwd, env, channel, output, wanted):
    os.setsid()
    call.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    null = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((null, output, output)):
        os.dup2(file, number)
    os.dup2(channel, wanted)
    for file in {null, output, channel} - {wanted}:
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    main = types.ModuleType("__main__")
    main.__file__ = bootstrap
    main.__builtins__ = __builtins__
    sys.modules["__main__"], sys.argv = main, [bootstrap, *words]
    exec(code, main.__dict__)

gc.collect()
gc.freeze()
while True:
    asked, given, _, _ = socket.recv_fds(line, 1 << 20, 2)
    if not asked:
        break
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = call.syscall(number, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        line.close()
        request = json.loads(asked)
        become(*request["program"], *given, request["channel"])
        sys.exit()
    ctypes.pythonapi.PyOS_AfterFork_Parent()
    for file in given:
        os.close(file)
    line.send(str(pid).encode())
"""
_CHANNEL = 9
"""The descriptor of the channel in a run."""


def start_prepared(command: Command) -> Started | None:
    """None if the run has to start by itself."""
    python, *words = command.argv
    if sys.platform != "linux" or platform.machine() not in _CLONE:
        return None
    if python != sys.executable or words[:1] != [str(BOOTSTRAP)] or command.channel_env is None:
        return None
    env = {**command.env, EAGER: "1", command.channel_env: str(_CHANNEL)}
    return _ask(words[1:], str(command.cwd), env)


def _ask(words: Sequence[str], cwd: str, env: Mapping[str, str]) -> Started:
    ours, theirs = socket.socketpair()
    output, write = os.pipe()
    asked = {"program": [words, cwd, dict(env)], "channel": _CHANNEL}
    line = _prepared(tuple(_read_at_start(env).items()), "".join(words))
    socket.send_fds(line, [json.dumps(asked).encode()], [theirs.fileno(), write])
    pid = int(line.recv(32))
    theirs.close()
    os.close(write)
    ours.setblocking(False)
    return Started(Child(pid, output), ours)


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Variables that an interpreter reads only when it starts."""
    return {name: text for name, text in sorted(env.items()) if name.startswith(("PYTHON", "LC_", "LANG"))}


@cache
def _prepared(variables: tuple[tuple[str, str], ...], tool: str) -> socket.socket:
    """Our end of the connection to the process that was started with these variables; it ends when we do.

    `tool`: the loaded test tool. A project with unittest would notice a loaded pytest.
    """
    ours, theirs = socket.socketpair()
    number = str(_CLONE[platform.machine()])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(BOOTSTRAP), str(theirs.fileno()), number, tool],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=Path(sys.prefix),
            env={"PATH": os.defpath, **dict(variables)},
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
