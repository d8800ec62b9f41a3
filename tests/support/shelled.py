"""A real project whose shell calls are confined, as root and as a plain user."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cage import NOBODY, Done, as_nobody, interpreter, obstacle
from support.turns import World, make_world
from verdigris.gates.agent_shell.launcher import ENTRY, import_paths
from verdigris.gates.agent_shell.run import OUTSIDE
from verdigris.sandbox.folders import clear

TDD = """#!/bin/sh
exec '{python}' -I -S -c "{code}" '{paths}' "$@"
"""
SOURCE, TEST = "src/pkg/code.py", "tests/test_add.py"
FILES = {
    "src/pkg/__init__.py": "",
    SOURCE: "VALUE = 1\n",
    "src/pkg/inner/__init__.py": "",
    "src/module.py": "VALUE = 2\n",
    "notes.txt": "notes\n",
    ".claude/settings.json": "{}\n",
}


@dataclass(frozen=True, slots=True)
class Shelled:
    folder: Path
    world: World
    plain_user: bool

    @property
    def root(self) -> Path:
        return self.world.root

    @property
    def private(self) -> Path:
        return self.world.project.repo.private

    @property
    def python(self) -> str:
        return os.path.realpath(interpreter(plain_user=self.plain_user))

    @property
    def environment(self) -> dict[str, str]:
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("TDD_", "GIT_"))
        }
        own = {
            "HOME": str(self.folder / "home"),
            "PATH": f"{self.folder / 'bin'}:{os.defpath}:/usr/local/bin",
        }
        return (
            inherited | self.world.repo.environment | own | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": "1"}
        )

    def argv(self, command: str) -> list[str]:
        place = [str(self.root), str(self.private), "\n".join(import_paths())]
        user = as_nobody() if self.plain_user else ()
        return [*user, self.python, "-I", "-S", str(ENTRY), *place, command]

    def start(self, command: str, **more: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.argv(command),
            cwd=self.root,
            env=self.environment | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(
        self,
        command: str,
        *,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Done:
        done = subprocess.run(
            self.argv(command),
            cwd=cwd or self.root,
            env=self.environment | dict(env or {}),
            input=stdin,
            capture_output=True,
            timeout=100,
            check=False,
        )
        return Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))

    def run_each(self, commands: Mapping[str, str]) -> dict[str, Done]:
        """Run several commands in one call, each in a subshell of its own; their output comes as `err`."""
        lines = [f"({command}) 2>&1; printf '\\001%s\\n' $?" for command in commands.values()]
        done = self.run("\n".join(lines))
        first, *others = done.out.split("\x01")
        ends = [part.partition("\n") for part in others]
        assert len(ends) == len(commands), done
        said = [first, *(rest for _, _, rest in ends)]
        return {
            what: Done(int(code), "", words)
            for what, (code, _, _), words in zip(commands, ends, said[:-1], strict=True)
        }

    def code(self, code: str, *arguments: object) -> Done:
        """Put Python code into a file of its own, and run it inside."""
        file = self.folder / "attack.py"
        file.write_text(code)
        words = " ".join(f"'{word}'" for word in arguments)
        return self.run(f"{self.python} -I -S {file} {words}")

    def own(self) -> None:
        if self.plain_user and os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", self.folder], check=True)

    def green(self) -> None:
        if "tests/test_sub.py::test_sub" not in self.world.state.claims:
            self.world.green_by_record("src/")
            self.own()


def case(name: str) -> tuple[bool, str]:
    """Whether this is a plain user's case, and why it cannot be tried here."""
    plain_user = name == "user"
    way = "own" if plain_user or os.geteuid() != 0 else "mapped"
    return plain_user, obstacle(way, plain_user=plain_user)


@contextmanager
def shelled(*, plain_user: bool, config: str = "", **files: str) -> Iterator[Shelled]:
    folder = Path(tempfile.mkdtemp(prefix="tdd-shell.")).resolve()
    try:
        folder.chmod(0o755)
        for name in ("home", "bin", "a"):
            (folder / name).mkdir()
        made = Shelled(folder, make_world(folder / "a" / "repo", config, **{**FILES, **files}), plain_user)
        shim = folder / "bin" / "tdd"
        shim.write_text(TDD.format(python=made.python, code=OUTSIDE, paths="\n".join(import_paths())))
        shim.chmod(0o755)
        made.private.mkdir(parents=True, exist_ok=True)
        made.own()
        yield made
    finally:
        clear(str(folder))
        folder.rmdir()


def shell_of(name: str) -> Iterator[Shelled]:
    """For fixtures: `root` or `user`; skips if that is not possible here."""
    plain_user, why = case(name)
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user) as made:
        yield made


@pytest.fixture(scope="module")
def one() -> Iterator[Shelled]:
    """A shell in red, for tests that do not depend on the user: another user may not be able to run our
    interpreter.
    """
    yield from shell_of("root" if os.geteuid() == 0 else "user")
