"""The machine as a user runs it: the real command, a real server on a socket, real git and pytest."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.cli import Cli
from support.forked import start_forked_on
from support.gitrepo import make_repo
from support.machines import HONEST, KATA, Kata
from support.openai_server import Cut, Request, Server, Stall, Step, overflow, rate_limited, serving
from support.turns import CONFIG, QUICK

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("remembered_runs")]

KEY = "hush-0123456789-hush"
YAML = """\
machine: {{steps: 3}}
roles:
  tester: {{model: scripted}}
  implementor: {{model: scripted, temperature: 0.2}}
  refactorer: {{model: scripted}}
llm: {{base_url: "{url}", api_key_env: SCRIPT_KEY}}
commit: {{author_name: Kata Bot, author_email: bot@example.org}}
"""


@dataclass
class Script:
    """Answers by role and step, whoever asks and how often; `faults` come first."""

    faults: list[Step] = field(default_factory=list)
    silent_at: str = ""
    """From here on nothing is said."""

    def __call__(self, request: Request) -> Step:
        if self.faults:
            fault: Step = self.faults.pop(0)
            return fault
        found = re.search(r"You are the (\w+), in step (\d+)\.", request.text)
        assert found
        place = f"step-{found[2]}-{found[1]}"
        if place == self.silent_at:
            return Stall()
        asked = len([message for message in request.messages if message["role"] == "assistant"])
        return HONEST[place][asked // 2]


@dataclass
class Played:
    kata: Kata
    server: Server
    script: Script
    cache: Path

    @property
    def env(self) -> dict[str, str]:
        return {"SCRIPT_KEY": KEY, "XDG_CACHE_HOME": str(self.cache)}

    def tdd(self, *words: str) -> tuple[int, str, str]:
        ran = Cli(self.kata.repo).tdd(*words, env=self.env)
        return ran.code, ran.out, ran.err

    def until_silence(
        self,
        how: signal.Signals,
        *words: str,
        meanwhile: Callable[[], object] = lambda: None,
        said: Path | None = None,
    ) -> int:
        """The command, ended when the model has fallen silent; `meanwhile`, before that."""
        self.server.requests.clear()
        out = os.open(os.devnull if said is None else said, os.O_WRONLY | os.O_CREAT, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR)
        env = {**Cli(self.kata.repo).environment(), **self.env}
        process = start_forked_on((nothing, out, nothing), words, self.kata.root, env)
        os.close(out)
        os.close(nothing)
        while process.poll() is None and not self._silent():
            time.sleep(0.02)
        meanwhile()
        process.send_signal(how)
        return process.wait(30)

    def _silent(self) -> bool:
        asked = "You are the {1}, in step {0}.".format(*self.script.silent_at.split("-")[1:])
        return any(asked in request.text for request in self.server.requests)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    script = Script()
    with serving(script, key=KEY) as server:
        repo = make_repo(tmp_path / "project")
        repo.write("tdd.yaml", QUICK + CONFIG + YAML.format(url=server.url))
        repo.write("kata.md", KATA)
        repo.write(".gitignore", "__pycache__/\n*.jsonl\n")
        repo.write("conftest.py", "")
        repo.commit("chore: the kata")
        assert Cli(repo).tdd("init", "--yes").code == 0
        yield Played(Kata(repo), server, script, tmp_path / "cache")


def passes(kata: Kata, commit: str, place: Path) -> bool:
    kata.repo.git("worktree", "add", "--quiet", "--detach", str(place), commit)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(words, cwd=place, env=os.environ, capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(300)
def test_a_kata_through_a_server_that_fails_now_and_then(played: Played, tmp_path: Path) -> None:
    played.script.faults = [rate_limited(), Cut(), overflow()]
    code, out, err = played.tdd("run", "--record", "talk.jsonl", "--json")
    assert (code, err) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    assert [e["role"] for e in told if e["event"] == "step_ended"] == ["tester", "implementor", "refactorer"]
    assert told[-1] | {"event": "run_ended", "outcome": "steps-made", "steps": 3} == told[-1]
    kata = played.kata
    commits = kata.repo.git("rev-list", "--reverse", "main").split()[1:]
    assert [passes(kata, c, tmp_path / c) for c in commits] == [False, True, True]
    assert kata.repo.git("log", "-3", "--format=%an <%ae>") == "\n".join(["Kata Bot <bot@example.org>"] * 3)
    trailers = kata.repo.run("interpret-trailers", "--parse", stdin=kata.repo.run("log", "-2", "--format=%B"))
    assert b"TDD-Role: implementor" in trailers
    assert played.tdd("log", "verify")[0] == 0

    code, out, _ = played.tdd("doctor")
    assert "scripted at http://127.0.0.1" in out
    code, out, _ = played.tdd("status")
    assert "machine: step 4 is the tester's" in out

    everything = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in everything if KEY.encode() in path.read_bytes()] == []

    replay = tmp_path / "again" / "project"
    kata.repo.git("clone", "--quiet", str(kata.root), str(replay))
    again = Kata(make_repo(replay))
    again.repo.git("reset", "--quiet", "--hard", f"{commits[0]}^")
    config = again.repo.read("tdd.yaml").decode().replace("model: scripted", "model: 'replay:talk.jsonl'")
    again.repo.write("tdd.yaml", config)
    again.repo.write("talk.jsonl", kata.repo.read("talk.jsonl"))
    ran = Cli(again.repo).tdd("run", env=played.env)
    assert ran.code == 0, ran.err
    assert "replay" in ran.out
    assert again.commits("tdd-machine/main") == kata.commits()


def test_interrupted_and_killed_while_the_model_is_silent(played: Played) -> None:
    played.script.silent_at = "step-2-implementor"
    said = played.kata.root.parent / "said.jsonl"
    assert played.until_silence(signal.SIGINT, "run", "--json", said=said) == 130
    told = [json.loads(line) for line in said.read_text().splitlines()]
    assert told[-1]["event"] == "interrupted"
    times = [event["time"] for event in told]
    assert times == sorted(times)
    assert played.kata.subjects() == ["test: an empty string is zero"]
    assert played.until_silence(signal.SIGKILL, "run") == -signal.SIGKILL
    assert "a run to step 3 was interrupted" in played.tdd("status")[1]
    played.script.silent_at = ""
    code, out, err = played.tdd("run")
    assert code == 0, err
    assert "taken up again" in out
    assert len(played.kata.subjects()) == 3


def test_a_second_machine_and_a_model_that_only_talks(played: Played) -> None:
    played.script.silent_at = "step-1-tester"
    second: list[tuple[int, str, str]] = []
    assert (
        played.until_silence(signal.SIGINT, "run", meanwhile=lambda: second.append(played.tdd("step"))) == 130
    )
    assert second[0][0] == 2
    assert "a machine is at work in this worktree already" in second[0][2]

    played.script.silent_at, played.script.faults = "", ["I would rather talk about it."] * 6
    code, out, err = played.tdd("run")
    assert (code, err) == (1, "")
    assert "attempt 5 not accepted: The answer holds no JSON object" in out
    assert "step 1: tester: blocked: no attempt was accepted" in out
    assert "step 1, tester: blocked" in played.tdd("status")[1]
    assert played.kata.repo.git("status", "--porcelain") == ""
    assert played.tdd("step")[0] == 0
    assert played.kata.subjects() == ["test: an empty string is zero"]
    assert played.tdd("log", "verify")[0] == 0
