"""A worktree in which runs are confined, as root in each way and as a plain user, with real system calls."""

# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH106, PTH123

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from verdigris.sandbox.child import Confining, try_way
from verdigris.sandbox.confinement import Confinement, check_confinement
from verdigris.sandbox.folders import clear
from verdigris.sandbox.syscalls import Way, enter_namespaces

NOBODY = 65534
CONFINED = """
import json, os, subprocess, sys
from verdigris.sandbox.child import Confining
from verdigris.sandbox.confinement import Confinement, check_confinement
given = json.loads(sys.argv[1])
fields = {name: tuple(value) if isinstance(value, list) else value for name, value in given["fields"].items()}
confine = Confining(check_confinement(Confinement(**fields)), given["way"])
done = subprocess.run(given["argv"], cwd=given["cwd"], capture_output=True, preexec_fn=confine)
show = lambda data: data.decode(errors="surrogateescape")
print(json.dumps([done.returncode, show(done.stdout), show(done.stderr)]))
"""
AVAILABLE = """
try:
    from verdigris.sandbox.child import available
except ImportError as error:
    print(error)
else:
    print(available().why, end="")
"""


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Cage:
    folder: Path
    way: Way
    plain_user: bool
    name: str = "root"

    @property
    def root(self) -> Path:
        return self.folder / self.name

    @property
    def home(self) -> Path:
        """A folder outside the worktree that is writable."""
        return self.folder / "home"

    @property
    def outside(self) -> Path:
        """A folder outside the worktree that is not writable."""
        return self.folder / "outside"

    def confinement(self, **fields: Any) -> Confinement:
        folders = {"upper": str(self.folder / "upper"), "work": str(self.folder / "work")}
        return Confinement(
            **{"root": str(self.root), "writable": ((str(self.home), str(self.home)),), **folders, **fields}
        )

    def write(self, path: str, text: str = "as it was\n") -> Path:
        """A path in the folder of the cage."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        self.own()
        return target

    def own(self) -> None:
        if self.plain_user and os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.folder], check=True)

    def run(self, *argv: str, cwd: str | None = None, apart: bool = False, **fields: Any) -> Done:
        """Run a command, confined. The parent is another process than this one for a plain user, and with
        `apart`.
        """
        made = self.confinement(**fields)
        if not (self.plain_user or apart):
            done = ran(made, self.way, argv, cwd or str(self.root))
            return Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))
        values = vars(made)
        given = {"fields": values, "way": self.way, "argv": argv, "cwd": cwd or str(self.root)}
        told = self.unconfined(CONFINED, json.dumps(given))
        assert told.returncode == 0, told.stderr
        return Done(*json.loads(told.stdout))

    def python(self, code: str, *arguments: str, **fields: Any) -> Done:
        """Run Python code, confined; `arguments` are its `sys.argv[1:]`."""
        python = interpreter(plain_user=self.plain_user)
        return self.run(python, "-I", "-S", "-c", textwrap.dedent(code), *arguments, **fields)

    def unconfined(self, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python code as the user of this cage."""
        argv = [*(as_nobody() if self.plain_user else ()), sys.executable, "-c", code, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=False)


def as_nobody() -> tuple[str, ...]:
    if os.geteuid() != 0:
        return ()
    return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@cache
def interpreter(*, plain_user: bool) -> str:
    """An interpreter that the cage's user may execute; ours may lie in a home that is closed to others."""
    if not plain_user or os.geteuid() != 0:
        return sys.executable
    for path in (sys.executable, shutil.which("python3", path=os.defpath)):
        argv = [*as_nobody(), "sh", "-c", '"$0" -I -S -c pass', path or "false"]
        if subprocess.run(argv, capture_output=True, check=False).returncode == 0:
            return str(path)
    return ""


def cases() -> tuple[tuple[Way, bool], ...]:
    return (("mapped", False), ("own", False), ("plain", False), ("own", True))


def named(case: tuple[Way, bool]) -> str:
    return f"{case[0]}-{'user' if case[1] else 'root'}"


@cache
def obstacle(way: Way, *, plain_user: bool) -> str:
    """Why this case cannot be tried here; empty if it can."""
    if not plain_user and os.geteuid() != 0:
        return "only root can confine as root"
    if plain_user:
        return _obstacle_of_a_plain_user()
    refused = [ability for ability in try_way(way, tempfile.gettempdir(), disk=True) if not ability.ok]
    return "; ".join(f"{ability.name}: {ability.why}" for ability in refused)


def _obstacle_of_a_plain_user() -> str:
    try:
        done = subprocess.run(
            [*as_nobody(), sys.executable, "-c", AVAILABLE], capture_output=True, check=False
        )
    except OSError as error:
        return f"no plain user can be had: {error}"
    if done.returncode in {126, 127} or not interpreter(plain_user=True):
        return "no Python that a plain user may execute"
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@contextmanager
def cage(way: Way, *, plain_user: bool, name: str = "root") -> Iterator[Cage]:
    folder = tempfile.mkdtemp(prefix="tdd-cage.")
    made = Cage(Path(folder).resolve(), way, plain_user, name)
    try:
        for inner in (name, "upper", "work", "home", "outside"):
            (made.folder / inner).mkdir()
        made.own()
        yield made
    finally:
        clear(folder)
        os.rmdir(folder)


def elsewhere(work: Callable[[], str]) -> str:
    """Run in a child that has mounts of its own already, as in a container."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            enter_namespaces(own_ids=False)
            os.write(writing, work().encode())
        except BaseException as error:  # noqa: BLE001 - the parent shows it
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


def shown(confinement: Confinement, way: Way, command: str) -> str:
    done = ran(confinement, way, ("sh", "-c", command), confinement.root)
    return (done.stdout + done.stderr).decode()


def ran(
    confinement: Confinement, way: Way, argv: Sequence[str], cwd: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv,
        cwd=cwd,
        preexec_fn=Confining(check_confinement(confinement), way),
        capture_output=True,
        check=False,
    )
