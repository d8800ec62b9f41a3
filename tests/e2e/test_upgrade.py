"""A repository that an earlier version set up goes on working, and nothing has to be run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import verdigris
from support.gitrepo import GitRepo, make_repo

BEFORE = "9e5e853e"
"""The last commit before the house became lean (ADR 41)."""
LATELY = "2e2cf8db"
"""The last commit before brokers asked the kernel who calls, and before ways of confining were remembered."""
HERE = Path(verdigris.__file__).parent
TREE = HERE.parents[1]
RUN = "from verdigris.cli.main import run; run()"
PREFIX = "CLAUDE_CODE_SHELL_PREFIX"


@dataclass(frozen=True)
class Upgraded:
    repo: GitRepo
    packages: Path

    @property
    def control(self) -> Path:
        return self.repo.root / ".git" / "tdd"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("CLAUDE", "TDD_"))}
        return {**kept, "HOME": str(self.repo.home), "PYTHONPATH": str(self.packages), **more}

    def tdd(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.call([sys.executable, "-c", RUN, *words])

    def call(self, argv: list[str], given: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            input=given,
            cwd=self.repo.root,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def hook(self, event: str, **call: object) -> dict[str, object]:
        """As the client calls it: the line of its settings, through the shell prefix of its settings."""
        settings = json.loads((self.repo.root / ".claude/settings.local.json").read_text())
        line = settings["hooks"][event][0]["hooks"][0]["command"]
        prefix = settings["env"][PREFIX]
        payload = {"hook_event_name": event, "session_id": "s1", "cwd": str(self.repo.root), **call}
        where = {"CLAUDE_PROJECT_DIR": str(self.repo.root), PREFIX: prefix}
        done = self.call([prefix, line], json.dumps(payload), **where)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgraded:
    top = tmp_path_factory.mktemp("upgrade")
    unpack(BEFORE, top)
    repo = make_repo(top / "repo")
    made = Upgraded(repo, top / "src")
    repo.write("calc.py", "def add(a, b):\n    return a + b\n")
    repo.write("tests/test_add.py", "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
    repo.commit()
    done = made.tdd("init", "--yes", "--agent", "claude")
    assert done.returncode == 0, done.stderr
    install_ours(made.packages)
    return made


def unpack(commit: str, top: Path) -> None:
    words = ["git", "-C", str(TREE), "archive", commit, "src/verdigris"]
    old = subprocess.run(words, capture_output=True, check=False)
    if old.returncode != 0:
        pytest.skip(f"this clone does not hold {commit}")
    shutil.rmtree(top / "src", ignore_errors=True)
    subprocess.run(["tar", "-x", "-C", str(top)], input=old.stdout, check=True)


def install_ours(packages: Path) -> None:
    shutil.rmtree(packages, ignore_errors=True)
    shutil.copytree(HERE, packages / "verdigris", ignore=shutil.ignore_patterns("__pycache__"))


def test_its_launcher_runs_the_first_command(upgraded: Upgraded) -> None:
    prefix = str(upgraded.control / "shell")
    launcher = upgraded.control / "worktrees" / "main" / "shell"
    assert "verdigris.gates.shell" in launcher.read_text()
    done = upgraded.call([prefix, "echo ran; exit 7"])
    assert (done.returncode, done.stdout) == (7, "ran\n"), done.stderr
    again = upgraded.call([prefix, "exit 6"])
    assert again.returncode == 6


def test_its_hooks_deny_and_allow_as_before(upgraded: Upgraded) -> None:
    edit = {"file_path": str(upgraded.repo.root / "calc.py"), "content": "x = 1\n"}
    denied = upgraded.hook("PreToolUse", tool_name="Write", tool_input=edit)
    assert "red-first" in json.dumps(denied)
    test = {"file_path": str(upgraded.repo.root / "tests/test_new.py"), "content": "x = 1\n"}
    assert upgraded.hook("PreToolUse", tool_name="Write", tool_input=test) == {}
    assert "red → green" in json.dumps(upgraded.hook("SessionStart"), ensure_ascii=False)


def test_the_doctor_finds_nothing_that_has_to_be_run(upgraded: Upgraded) -> None:
    found = doctor(upgraded)
    assert (found["log"]["level"], found["claude"]["level"]) == ("ok", "ok")


def doctor(upgraded: Upgraded) -> dict[str, dict[str, str]]:
    return {found["name"]: found for found in json.loads(upgraded.tdd("doctor", "--json").stdout)["findings"]}


@pytest.mark.parametrize("newer", [True, False], ids=["upgraded", "downgraded"])
def test_a_turn_goes_on_when_the_tool_is_exchanged_meanwhile(tmp_path: Path, *, newer: bool) -> None:
    """With a call open, whose process outside is of the other version, and events that one of them lacks."""
    repo = make_repo(tmp_path / "repo")
    made = Upgraded(repo, tmp_path / "src")
    unpack(LATELY, tmp_path)
    if not newer:
        install_ours(made.packages)
    repo.write("calc.py", "def add(a, b):\n    return 0\n")
    repo.write("tests/test_add.py", "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
    repo.commit()
    shell = str(made.control / "shell")
    assert made.tdd("init", "--yes", "--agent", "claude").returncode == 0
    assert made.call([shell, "exit 4"]).returncode == 4
    if not newer:
        assert made.tdd("doctor", "--accept-weaker", "to write an event that is new").returncode == 0
    made.tdd("test")
    claimed = made.tdd("claim", "tests/test_add.py::test_add", "calc.py")
    assert claimed.returncode == 0, claimed
    opened = subprocess.Popen(
        [shell, "touch begun.md; until [ -e go.md ]; do sleep 0.01; done; echo x >> tests/test_add.py"],
        cwd=repo.root,
        env=made.environment(),
    )
    while opened.poll() is None and not (repo.root / "begun.md").exists():
        time.sleep(0.01)
    if newer:
        install_ours(made.packages)
    else:
        unpack(LATELY, tmp_path)
    assert json.loads(made.tdd("status", "--json").stdout)["phase"] == "green"
    done = made.call(
        [shell, "echo x >> tests/test_add.py; printf 'def add(a, b):\\n    return a + b\\n' > calc.py"]
    )
    assert "Read-only" in done.stderr
    (repo.root / "go.md").touch()
    assert opened.wait(60) != 0
    settled = made.tdd("settle")
    assert (settled.returncode, "● accepted" in settled.stdout) == (0, True), settled
    assert made.tdd("log", "verify").returncode == 0
    assert made.call([shell, "exit 5"]).returncode == 5
