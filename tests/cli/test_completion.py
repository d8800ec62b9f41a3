from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from support.cli import RED, Cli
from verdigris.cli.commands import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

SUB = "tests/test_sub.py::test_sub"


def _offered(cli: Cli, *words: str, cwd: Path | None = None) -> list[str]:
    """What click's own protocol for fish answers to `tdd WORDS… <TAB>`."""
    line = " ".join(("tdd", *words[:-1]))
    env = {"_TDD_COMPLETE": "fish_complete", "COMP_WORDS": f"{line} {words[-1]}", "COMP_CWORD": words[-1]}
    ran = cli.tdd(env=env, cwd=cwd)
    assert ran.code == 0, ran
    return [entry.partition(",")[2].partition("\t")[0] for entry in ran.out.splitlines() if entry]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script_and_where_to_put_it(shell: str, bare_cli: Cli) -> None:
    ran = bare_cli.ok("completion", shell)
    assert ran.out.startswith("# ")
    assert f"_TDD_COMPLETE={shell}_complete" in ran.out


def test_the_bash_script_is_bash(bare_cli: Cli) -> None:
    script = bare_cli.ok("completion", "bash").out
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_are_offered(bare_cli: Cli) -> None:
    assert set(_offered(bare_cli, "re")) == {name for name in COMMANDS if name.startswith("re")}


@pytest.mark.slow
def test_open_reds_and_laid_aside_ids_are_offered(cli: Cli) -> None:
    cli.repo.write("calc.py", "x = 1\n")
    cli.ok("aside")
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)
    assert _offered(cli, "claim", "tests") == [SUB]
    assert _offered(cli, "claim", "nothing") == []
    assert _offered(cli, "restore", "a") == ["a1"]


def test_where_nothing_can_be_read_nothing_is_offered(bare_cli: Cli, tmp_path: Path) -> None:
    assert _offered(bare_cli, "restore", "a", cwd=tmp_path) == []
