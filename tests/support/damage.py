"""A real control area in each phase, damages of its files, and a person who follows `next`."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.cli import FIXED, RED, Cli, Ran, make_cli
from support.trees import remove_tree
from verdigris.execution.resident.resident import stop

PHASES = ("red", "green", "refactor")
MOST_MOVES = 12
OUR_FAULT = "bug in Verdigris"
_COMMAND = re.compile(r"`((?:tdd|git|echo) [^`]+)`")


def make_place(root: Path, phase: str) -> Cli:
    """A repository with a connected agent that has made a call in this phase."""
    cli = make_cli(root)
    cli.ok("init", "--yes", "--agent", "claude")
    cli.repo.commit("set up")
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test")
    if phase != "red":
        cli.ok("claim", "tests/test_sub.py::test_sub", "calc.py")
    if phase == "refactor":
        cli.repo.write("calc.py", FIXED)
        cli.ok("settle")
        cli.repo.commit("sub")
        cli.ok("refactor", "begin")
    call(cli, "PreToolUse")
    shell(cli, "echo '# a note' >> notes.txt")
    call(cli, "PostToolUse")
    stop(str(cli.root / ".git/tdd/worktrees/main"))
    return cli


def call(cli: Cli, event: str, tool: str = "Bash", **given: str) -> Ran:
    """A hook of the client."""
    given = given or {"command": "true"}
    payload = {
        "hook_event_name": event,
        "session_id": "s",
        "cwd": str(cli.root),
        "tool_name": tool,
        "tool_input": given,
    }
    return _run(cli, [str(cli.root / ".git/tdd/hook"), "claude", event], json.dumps(payload).encode())


def shell(cli: Cli, command: str) -> Ran:
    """A command in the agent's shell."""
    return _run(cli, [str(cli.root / ".git/tdd/worktrees/main/shell"), command])


def _run(cli: Cli, argv: list[str], stdin: bytes = b"") -> Ran:
    where = {"CLAUDE_PROJECT_DIR": str(cli.root), "CLAUDE_CODE_SESSION_ID": "s"}
    try:
        done = subprocess.run(
            argv,
            cwd=cli.root,
            env=cli.environment() | where,
            input=stdin,
            capture_output=True,
            timeout=100,
            check=False,
        )
    except OSError as error:
        return Ran(127, "", str(error))
    return Ran(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def truncate(path: Path) -> None:
    data = path.read_bytes()
    _write(path, data[: len(data) // 2])


def cut(path: Path) -> None:
    """Cuts the last line: as a crash of the machine does to a file that grows."""
    data = path.read_bytes()
    _write(path, data[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[len(data) // 2] ^= 1
    _write(path, bytes(data))


def empty(path: Path) -> None:
    _write(path, b"")


def remove(path: Path) -> None:
    if path.is_dir():
        remove_tree(path)
    else:
        path.unlink()


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").write_text("x")


def make_file(path: Path) -> None:
    remove_tree(path)
    path.write_text("x")


FILE_DAMAGES: tuple[Callable[[Path], None], ...] = (truncate, cut, flip, empty, remove, make_folder)
FOLDER_DAMAGES: tuple[Callable[[Path], None], ...] = (remove, make_file)


def _write(path: Path, data: bytes) -> None:
    mode = path.stat().st_mode
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(mode)


def places(control: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(control):
        for name in sorted((*folders, *files)):
            path = control / folder / name
            if not path.is_symlink():
                yield path


@dataclass(frozen=True, slots=True)
class Walked:
    accepted: bool
    told: tuple[str, ...]

    @property
    def moves(self) -> tuple[str, ...]:
        return tuple(line for line in self.told if line.startswith("$ "))


def follow(cli: Cli, *, first: str = "tdd settle") -> Walked:
    """What a person does until a turn is accepted: `tdd settle`, and the move that each refusal names."""
    cli.repo.write("tests/test_sub.py", RED)
    cli.repo.write("calc.py", FIXED)
    told: list[str] = []
    move = first
    for _ in range(MOST_MOVES):
        ran = _carry_out(cli, move)
        told += [f"$ {move}", *ran.out.splitlines(), *ran.err.splitlines()]
        if "\u25cf accepted" in ran.out:
            return Walked(True, tuple(told))
        move = _next_move(cli, ran, move)
    return Walked(False, tuple(told))


def _next_move(cli: Cli, ran: Ran, last: str) -> str:
    lines = [*ran.out.splitlines(), *ran.err.splitlines()]
    named = "\n".join(line for line in reversed(lines) if line.startswith(("next: ", "hint: ")))
    if "write one failing test" in named and last == "tdd test" and "tdd claim" not in named:
        cli.repo.write("tests/test_mul.py", RED.replace("sub", "mul").replace("== 1", "== 6"))
        cli.repo.write("calc.py", FIXED + "\n\ndef mul(a, b):\n    return a * b\n")
        return "tdd settle"
    moves = [command for command in _COMMAND.findall(named) if command != last]
    return next(iter(moves), "tdd settle")


def _carry_out(cli: Cli, move: str) -> Ran:
    words = [{"WHY": "the disk failed"}.get(word, word) for word in shlex.split(move)]
    if words[0] == "tdd":
        return cli.tdd(*words[1:])
    return _run(cli, ["sh", "-c", move])
