from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cli import RED, TDD, Cli
from verdigris.cli.commands import COMMANDS

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
def test_open_reds_and_edits_that_are_set_aside_are_offered(cli: Cli) -> None:
    cli.repo.write("calc.py", "x = 1\n")
    cli.ok("aside")
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)
    assert _offered(cli, "claim", "tests") == ["tests", SUB], "the first stands for the paths"
    assert _offered(cli, "claim", "nothing") == ["nothing"]
    assert _offered(cli, "restore", "a") == ["a1"]
    assert _in_bash(cli, "tdd claim tests/t") == ["tests/test_add.py", "tests/test_sub.py", SUB]


@pytest.mark.parametrize("command", ["test", "claim", "stub", "revise", "test-bug"])
def test_behind_two_colons_the_tests_of_that_file_are_offered(cli: Cli, command: str) -> None:
    assert _offered(cli, command, "tests/test_add.py::te") == ["tests/test_add.py::test_add"]


def test_bash_completes_paths_and_goes_on_behind_the_colons(cli: Cli) -> None:
    """Of a word with colons bash replaces what stands behind the last of them."""
    assert _in_bash(cli, "tdd test te") == ["tests/"]
    assert _in_bash(cli, "tdd claim ca") == ["calc.py"]
    assert _in_bash(cli, "tdd holdout add tests/te") == ["tests/test_add.py"]
    assert _in_bash(cli, "tdd test tests/test_add.py::te") == ["test_add"]
    assert _in_bash(cli, "tdd test tests/test_add.py::") == ["test_add"]
    assert _in_bash(cli, "tdd stat") == ["status"]


def _in_bash(cli: Cli, line: str) -> list[str]:
    script = cli.ok("completion", "bash").out
    program = cli.root / "tdd-of-this-test"
    program.write_text(f'#!/bin/sh\nexec {" ".join(TDD)} "$@"\n')
    program.chmod(0o755)
    call = f"""{script}
COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDBREAKS=' :'
_tdd_completion {program} 2> /dev/null
printf '%s\\n' "${{COMPREPLY[@]}}" | sort -u
"""
    argv = ["bash", "--norc", "-c", call]
    done = subprocess.run(
        argv, cwd=cli.root, env=cli.environment(), capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_where_nothing_can_be_read_nothing_is_offered(bare_cli: Cli, tmp_path: Path) -> None:
    assert _offered(bare_cli, "restore", "a", cwd=tmp_path) == []
