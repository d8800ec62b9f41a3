"""The real `tdd` in a real repository, deaf to the environment of whoever runs the tests."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from support.forked import forked
from support.gitrepo import GitRepo, copied, make_repo
from support.turns import CONFIG, QUICK

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TDD = (sys.executable, "-m", "verdigris")
DEAF_TO = (
    "CI",
    "NO_COLOR",
    "TDD_DEBUG",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTEST_ADDOPTS",
    "PYTEST_CURRENT_TEST",
)

SOURCE = "def add(a, b):\n    return a + b\n"
PASSING = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
RED = "import calc\n\n\ndef test_sub():\n    assert calc.sub(3, 2) == 1\n"
FIXED = SOURCE + "\n\ndef sub(a, b):\n    return a - b\n"


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Cli:
    repo: GitRepo

    @property
    def root(self) -> Path:
        return self.repo.root

    def environment(self) -> dict[str, str]:
        clean = {name: value for name, value in self.repo.environment.items() if name not in DEAF_TO}
        lean = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # our own suite's plugins cost a second a run
        return clean | lean | {"COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}

    def tdd(
        self,
        *arguments: str | bytes,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Ran:
        """A process of its own; where how it starts is no matter it is forked, with all modules loaded."""
        where, surroundings = cwd or self.root, self.environment() | dict(env or {})
        if not prefix and not any(name.startswith(("PYTHON", "LC_")) for name in env or ()):
            return Ran(*forked([os.fsdecode(a) for a in arguments], where, surroundings, timeout=100))
        done = subprocess.run(
            [*prefix, *TDD, *arguments],
            cwd=where,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=100,
            check=False,
        )
        return Ran(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def on_a_terminal(
        self, *arguments: str, env: Mapping[str, str] | None = None, answer: bytes = b""
    ) -> Ran:
        """The same with a terminal for stdin, stdout and stderr, whose output comes together."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*TDD, *arguments],
            cwd=self.root,
            env=self.environment() | {"TERM": "xterm"} | dict(env or {}),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        # A terminal whose other side was closed by all is an I/O error, not an end of file.
        with suppress(OSError):
            while chunk := os.read(ours, 65536):
                shown += chunk
        os.close(ours)
        return Ran(process.wait(timeout=100), os.fsdecode(shown), "")

    def ok(self, *arguments: str | bytes) -> Ran:
        ran = self.tdd(*arguments)
        assert ran.code == 0, ran
        return ran


def make_cli(root: Path, *, tests: bool = True, ready: bool = False, live: bool = False) -> Cli:
    """A small calculator, committed, with a `tdd.yaml` that names an interpreter which has pytest.

    `ready`: `tdd init` is done. `live`: settlements try whether assertions are live.
    """
    config = CONFIG if live else QUICK + CONFIG
    return Cli(
        copied(root, lambda place: _make(place, config, tests=tests, ready=ready), config, tests, ready)
    )


def _make(root: Path, config: str, *, tests: bool, ready: bool) -> None:
    repo = make_repo(root)
    repo.write("tdd.yaml", config)
    repo.write("calc.py", SOURCE)
    if tests:
        repo.write("tests/test_add.py", PASSING)
    repo.commit()
    if ready:
        Cli(repo).ok("init", "--yes")
