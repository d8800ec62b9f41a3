"""Runs `tdd` in a process forked from ours, with its own files, folder and environment, and all modules
loaded.
"""

from __future__ import annotations

import importlib
import io
import os
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

from verdigris.cli import main

for name in (
    "cli.group",
    "cli.turn",
    "cli.testing",
    "setup.initialisation",
    "turns.settle",
    "turns.test",
):
    importlib.import_module(f"verdigris.{name}")


def forked(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], *, timeout: float
) -> tuple[int, str, str]:
    """Exit code (negative for a signal), standard output, standard error."""
    (out, out_end), (err, err_end) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(arguments, cwd, env, (os.open(os.devnull, os.O_RDONLY), out_end, err_end))
    os.close(out_end)
    os.close(err_end)
    try:
        told = _read({out: bytearray(), err: bytearray()}, time.monotonic() + timeout)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(out)
        os.close(err)
        _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), os.fsdecode(bytes(told[out])), os.fsdecode(bytes(told[err]))


def _read(told: dict[int, bytearray], deadline: float) -> dict[int, bytearray]:
    with selectors.DefaultSelector() as selector:
        for file in told:
            selector.register(file, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(bytes(b"".join(told.values())))
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                told[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
    return told


@dataclass
class ForkedCommand:
    """A process that a test can wait for and end, with the names of `subprocess`."""

    pid: int
    returncode: int | None = field(default=None, kw_only=True)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float = 100) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(self.pid)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@dataclass
class ForkedProcess(ForkedCommand):
    """A process that a test can write to."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def communicate(self, timeout: float = 100) -> tuple[str, str]:
        """Everything that it writes from now on, on both streams, until its end."""
        self.stdin.close()
        out, err = self.stdout.fileno(), self.stderr.fileno()
        told = _read({out: bytearray(), err: bytearray()}, time.monotonic() + timeout)
        self.wait(timeout)
        self.stdout.close()
        self.stderr.close()
        return os.fsdecode(bytes(told[out])), os.fsdecode(bytes(told[err]))


def start_forked_on(
    streams: tuple[int, int, int], arguments: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> ForkedCommand:
    """`tdd`, with these descriptors for its standard streams."""
    pid = os.fork()
    if pid == 0:
        _become(arguments, cwd, env, streams)
    return ForkedCommand(pid)


def start_forked(arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> ForkedProcess:
    """`tdd`, with a pipe for each of its standard streams."""
    (told, said_to), (out, said), (err, complained) = os.pipe(), os.pipe(), os.pipe()
    pid = start_forked_on((told, said, complained), arguments, cwd, env).pid
    for end in (told, said, complained):
        os.close(end)
    return ForkedProcess(pid, open(said_to, "wb"), open(out, "rb"), open(err, "rb"))  # noqa: PTH123 - descriptors


def _become(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: tuple[int, int, int]
) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, file in enumerate(streams):
            os.dup2(file, number)
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", "surrogateescape")
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", line_buffering=True)
        os.closerange(3, 1024)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        warnings.resetwarnings()
        sys.argv = ["tdd", *arguments]
        main.run()
    except SystemExit as ended:
        sys.stdout.flush()
        os._exit(ended.code if isinstance(ended.code, int) else 1)
    finally:
        os._exit(70)
