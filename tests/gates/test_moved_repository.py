"""A repository that was copied or moved: its own launcher protects it, and nothing of the first one holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.core.records import Actor
from verdigris.gates.agent_shell import launcher
from verdigris.gates.clients.claude.client import ClaudeCode
from verdigris.gates.clients.claude.quick import LOCAL, PREFIX
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import open_project
from verdigris.storage.repository import find_repository

SOURCE = "src/pkg/code.py"
ATTEMPT = f"pwd; echo x >> tdd.yaml; echo 'def f(): return 1' >> {SOURCE}; echo y > new.txt"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "first")
    repo.write(SOURCE, "VALUE = 1\n")
    repo.write("tests/test_code.py", "def test_code():\n    assert True\n")
    repo.commit()
    initialise(repo.root, Actor())
    ClaudeCode().install(open_project(repo.root, Actor()))
    assert shell(repo.root, "exit 3").returncode == 3, "a card, stamps and a record of the way are there"
    return repo.root


def shell(root: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = [str(root / ".git/tdd/shell"), command]
    environment = {**os.environ, "HOME": str(root.with_suffix(".home")), "CLAUDE_CODE_SESSION_ID": "s"}
    environment.pop("CLAUDE_PID", None)
    return subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("moved", [False, True], ids=["copied", "moved"])
def test_its_launcher_protects_it(first: Path, *, moved: bool) -> None:
    here = first.with_name("second folder")
    if moved:
        first.rename(here)
    else:
        shutil.copytree(first, here, symlinks=True)
    for _ in range(2):  # by the launcher as it came, and as it was written anew
        done = shell(here, ATTEMPT)
        assert done.stdout == f"{here}\n", done
        assert "tdd.yaml: Read-only" in done.stderr
        assert f"Put back: {SOURCE}" in done.stderr
        assert (here / SOURCE).read_text() == "VALUE = 1\n"
        assert (here / "new.txt").read_text() == "y\n"
    assert str(here) in (find_repository(here).private / "shell").read_text()
    if not moved:
        assert not (first / "new.txt").exists()
        assert shell(first, "exit 4").returncode == 4
        assert "changed" not in shell(first, "true").stderr


def test_a_launcher_by_the_shell_protects_it_too(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the interpreter's name is too long for a first line."""
    monkeypatch.setattr(launcher, "LONGEST", 0)
    launcher.write_launcher(find_repository(first))
    assert (find_repository(first).private / "shell").read_text().startswith("#!/bin/sh")
    here = first.with_name("second")
    first.rename(here)
    done = shell(here, ATTEMPT)
    assert (done.stdout, "tdd.yaml: Read-only" in done.stderr) == (f"{here}\n", True), done


def test_its_client_is_led_to_its_own_launcher(first: Path) -> None:
    here = first.with_name("second")
    shutil.copytree(first, here, symlinks=True)
    before = json.loads((here / LOCAL).read_text())["env"][PREFIX]
    assert hook(here, "PreToolUse", before)["hookSpecificOutput"]["permissionDecision"] == "deny"
    hook(here, "SessionStart", before)
    after = json.loads((here / LOCAL).read_text())["env"][PREFIX]
    assert after == str(here / ".git/tdd/shell")
    assert hook(here, "PreToolUse", after) == {}


def test_a_turn_that_was_open_goes_on_with_the_settings_that_the_gate_wrote(first: Path) -> None:
    load = "import sys\nsys.path.insert(0, 'src')\nfrom pkg.code import VALUE\n"
    (first / "tests/test_two.py").write_text(f"{load}def test_two(): assert VALUE == 2\n")
    for words in (["test"], ["claim", "tests/test_two.py::test_two", SOURCE]):
        tdd(first, *words)
    here = first.with_name("second")
    first.rename(here)
    hook(here, "SessionStart", str(first / ".git/tdd/shell"))
    (here / SOURCE).write_text("VALUE = 2\n")
    status = json.loads(tdd(here, "status", "--json").stdout)
    assert (status["phase"], status["drift"], status["violations"]) == ("green", [], [])
    settled = tdd(here, "settle")
    assert "● accepted" in settled.stdout, settled


def tdd(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "verdigris", *words]
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("TDD_", "CLAUDE"))}
    return subprocess.run(argv, cwd=root, env=environment, capture_output=True, text=True, check=False)


def hook(root: Path, event: str, prefix: str) -> dict[str, dict[str, str]]:
    call = {"hook_event_name": event, "session_id": "s", "cwd": str(root), "tool_name": "Bash"}
    done = subprocess.run(
        [root / ".git/tdd/hook", "claude", event],
        input=json.dumps({**call, "tool_input": {"command": "true"}, "source": "startup"}),
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(root), PREFIX: prefix, "CLAUDE_PID": "1"},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def test_a_linked_worktree_whose_launcher_is_elsewhere_runs_nothing(first: Path) -> None:
    private = find_repository(first).private
    shutil.copytree(private, private.with_name("other"))
    done = subprocess.run(
        [private.with_name("other") / "shell", "echo ran"],
        capture_output=True,
        text=True,
        check=False,
        cwd=first,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "tdd init" in done.stderr
