"""A command that could not write says why, after all that it printed itself."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from support.shelled import Shelled
from verdigris.gates.agent_shell.confinement import HOLE, READONLY
from verdigris.gates.agent_shell.write_failure import explanation

LINE = (
    "[tdd] {0} is read-only in an agent's shell; "
    "a person may allow it in tdd.yaml: `sandbox: {{write: [{0}]}}`\n"
)


def test_one_line_names_the_path_and_the_key(red: Shelled) -> None:
    done = red.run("echo out; echo before >&2; touch ~/.config/tool/x ~/.other")
    *own, last = done.err.splitlines(keepends=True)
    assert (done.code, done.out, own[0]) == (1, "out\n", "before\n")
    assert last == LINE.format("~/.other") or last == LINE.format("~/.config/tool/x")
    assert "".join(own).count("[tdd]") == 0


def test_of_git_too(one: Shelled) -> None:
    done = one.run("git config a.b c")
    assert done.err.endswith(LINE.format(f"{one.root}/.git/config")), done.err


@pytest.mark.parametrize("command", ["touch ~/.x; true", "exit 3", "cat /nowhere", "echo x >> tdd.yaml"])
def test_nothing_is_added_to_what_has_another_reason(one: Shelled, command: str) -> None:
    assert "[tdd]" not in one.run(command).err


def test_where_both_streams_are_one_their_order_stays(one: Shelled) -> None:
    done = subprocess.run(
        one.argv("for i in {1..200}; do echo $i; echo e$i >&2; done; touch ~/.x"),
        cwd=one.root,
        env=one.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    lines = done.stdout.decode().splitlines()
    assert lines[:400] == [word for i in range(1, 201) for word in (str(i), f"e{i}")]
    assert lines[-1].startswith("[tdd] ~/.x")


def test_a_file_is_read_afterwards(one: Shelled, tmp_path: Path) -> None:
    file = tmp_path / "said"
    file.write_text("touch: '/etc/x': Read-only file system\n")
    with file.open("a") as stderr:
        for command in ("exit 1", "touch ~/.x"):
            subprocess.run(one.argv(command), cwd=one.root, env=one.environment, stderr=stderr, check=False)
    lines = file.read_text().splitlines()
    assert len(lines) == 3
    assert lines[-1].startswith("[tdd] ~/.x")


def test_a_process_left_behind_can_go_on_writing(one: Shelled) -> None:
    reading, writing = os.pipe()
    with subprocess.Popen(
        one.argv("(sleep 1; echo late >&2) & exit 4"), cwd=one.root, env=one.environment, stderr=writing
    ) as process:
        os.close(writing)
        started = time.monotonic()
        assert process.wait(timeout=60) == 4
        assert time.monotonic() - started < 30
        with os.fdopen(reading, "rb") as stream:
            assert stream.read() == b"late\n"


def test_what_was_said_of_a_path_that_can_be_written_is_not_ours(tmp_path: Path) -> None:
    mounts = [(str(tmp_path), HOLE), (f"{tmp_path}/in", READONLY)]
    environment = {"HOME": f"{tmp_path}/in"}
    writable = f"touch: cannot touch '{tmp_path}/a': Read-only file system\n".encode()
    assert explanation(writable, mounts, "/elsewhere", environment) == b""
    refused = f"touch: cannot touch '{tmp_path}/in/a': Read-only file system\n".encode()
    assert explanation(refused, mounts, "/elsewhere", environment) == LINE.format("~/a").encode()
    assert explanation(refused, mounts, str(tmp_path), environment) == b"", "the phase protects it"
