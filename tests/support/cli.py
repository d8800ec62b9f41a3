"""The real `tdd` in a real repository, independent of the environment of whoever runs the tests."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.forked import forked, start_forked_on
from support.gitrepo import GitRepo, copied, make_repo
from support.turns import CONFIG, QUICK

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
        lean = {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"
        }  # the plugins of our own suite would cost each run a second
        return clean | lean | {"COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}

    def tdd(
        self,
        *arguments: str | bytes,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Ran:
        """Run `tdd` in a process of its own; it is forked, with all modules loaded, unless the test is about
        its start.
        """
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
        """The same with a terminal as stdin, stdout and stderr; their output comes together."""
        ours, theirs = pty.openpty()
        surroundings = self.environment() | {"TERM": "xterm"} | dict(env or {})
        process = start_forked_on((theirs, theirs, theirs), arguments, self.root, surroundings)
        os.close(theirs)
        os.write(ours, answer)
        shown = b""
        # Once all have closed its other side, a terminal gives an I/O error instead of an end of file.
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
    """A small calculator, committed, with a `tdd.yaml` that names an interpreter with pytest.

    `ready`: `tdd init` is done. `live`: settlements check whether assertions are live.
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
