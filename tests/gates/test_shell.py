"""The entry of an agent's shell calls, as a client's shell prefix and as `tdd shell`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from support.shelled import SOURCE, Shelled, case, shelled
from verdigris.core.errors import StorageError
from verdigris.gates.agent_shell import launcher


@pytest.fixture(scope="module")
def shell() -> Iterator[Shelled]:
    plain_user, why = case("root" if os.geteuid() == 0 else "user")
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user) as made:
        yield made


COMMAND = f"echo 'it'\"s\"; echo X = 1 >> {SOURCE}; echo $#; exit 6"


def called(shell: Shelled, *argv: str) -> tuple[int, str]:
    done = subprocess.run(
        argv, cwd=shell.root, env=shell.environment, capture_output=True, text=True, check=False
    )
    assert f"Put back: {SOURCE}" in done.stderr, done.stderr
    assert (shell.root / SOURCE).read_text() == "VALUE = 1\n"
    return done.returncode, done.stdout


def test_as_a_shell_prefix(shell: Shelled) -> None:
    """As the client calls it: the shell of the user has the prefix and the command as two words."""
    prefix = launcher.write_launcher(shell.world.project.repo)
    quoted = COMMAND.replace("'", "'\\''")
    assert called(shell, "bash", "-c", f"'{prefix}' '{quoted}'") == (6, "its\n0\n")


def test_as_a_shell_prefix_where_the_interpreter_cannot_be_named_in_a_first_line(
    shell: Shelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LONGEST", 1)
    prefix = launcher.write_launcher(shell.world.project.repo)
    assert prefix.read_text().startswith("#!/bin/sh\n")
    assert called(shell, str(prefix), COMMAND) == (6, "its\n0\n")


def test_as_a_command(shell: Shelled) -> None:
    tdd = str(shell.folder / "bin" / "tdd")
    assert called(shell, tdd, "shell", "--", COMMAND) == (6, "its\n0\n")
    assert called(shell, tdd, "shell", "--", "sh", "-c", f"echo 'a  b'; echo X = 1 > {SOURCE}; exit 5") == (
        5,
        "a  b\n",
    )


def test_a_launcher_is_written_when_it_is_not_as_it_should_be(shell: Shelled) -> None:
    repo = shell.world.project.repo
    prefix = launcher.write_launcher(repo)
    first = prefix.stat().st_ino
    assert launcher.write_launcher(repo).stat().st_ino == first
    prefix.write_text("old")
    assert launcher.write_launcher(repo).read_text() == launcher.program(repo)


def test_hook_commands_are_parted_by_nul(shell: Shelled) -> None:
    repo = shell.world.project.repo
    launcher.write_hook_launcher(repo, "scribe", ["a\nb", "c d"])
    assert launcher.hook_commands(repo, "scribe").read_bytes() == b"a\nb\0c d"
    launcher.hook_commands(repo, "scribe").unlink()


def test_each_client_has_hook_commands_of_its_own_and_the_last_takes_the_launchers(shell: Shelled) -> None:
    repo = shell.world.project.repo
    launcher.write_hook_launcher(repo, "scribe", ["a"])
    launcher.write_hook_launcher(repo, "clerk", ["b"])
    assert launcher.hook_commands(repo, "scribe").read_bytes() == b"a"
    shared = {launcher.launcher(repo), launcher.hook_launcher(repo)}
    assert not shared & set(launcher.files_of(repo, "scribe"))
    launcher.hook_commands(repo, "clerk").unlink()
    assert shared < set(launcher.files_of(repo, "scribe"))
    launcher.hook_commands(repo, "scribe").unlink()


def test_a_disk_that_takes_no_launcher(shell: Shelled) -> None:
    repo = shell.world.project.repo
    (repo.private / f"{launcher.NAME}.{os.getpid()}").mkdir()
    launcher.launcher(repo).unlink(missing_ok=True)
    with pytest.raises(StorageError):
        launcher.write_launcher(repo)
    (repo.private / f"{launcher.NAME}.{os.getpid()}").rmdir()
