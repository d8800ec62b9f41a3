"""A program as a user runs it: the real command, a model behind a real socket, real git and pytest."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from support.cli import Cli
from support.forked import start_forked_on
from support.gitrepo import GitRepo
from support.loops import NAME, PROGRAM, cast, honest, make_loop
from support.openai_server import Request, Server, Stall, Step, serving
from support.patience import no_pauses

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("remembered_runs")]


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def made(root: Path, server: Server, program: str = PROGRAM) -> GitRepo:
    roles = f"{cast('scripted')}llm: {{base_url: '{server.url}', timeout: 20}}\n"
    return make_loop(root, roles=roles, program=program).repo


def subjects(repo: GitRepo) -> list[str]:
    return repo.git("log", "--reverse", "--format=%s", f"main..autoloop/{NAME}").splitlines()


@pytest.mark.timeout(300)
def test_two_behaviours_are_pinned_and_the_state_file_tells_them(tmp_path: Path) -> None:
    with serving(honest) as server:
        repo = made(tmp_path / "project", server)
        ran = Cli(repo).tdd("loop", "run", NAME, "--iterations", "2", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert told[0]["event"] == "program_began"
    done = [(one["number"], one["status"]) for one in told if one["event"] == "iteration_done"]
    assert done == [(1, "accepted"), (2, "accepted")]
    assert told[-1] | {"event": "run_ended", "outcome": "limit", "steps": 2} == told[-1]
    assert subjects(repo) == [
        f"[Autoloop: {NAME}] Iteration 1: the first item",
        f"[Autoloop: {NAME}] Iteration 2: the last item",
    ]
    state = repo.git("show", f"memory/autoloop:{NAME}.md")
    assert "| Recent Statuses | accepted, accepted |" in state
    prompts = [request.text for request in server.requests if "You are the test_writer" in request.text]
    assert "Pinned already:\n- first: first is the first item" in prompts[-1]


@pytest.mark.timeout(300)
def test_a_model_that_answers_junk_all_night_is_bounded_by_the_limits(tmp_path: Path) -> None:
    limited = PROGRAM.replace("schedule: every 6h", "schedule: every 6h\nlimits: {tokens: 4000}")
    with serving(lambda _: "I would rather talk about the weather.") as server:
        repo = made(tmp_path / "project", server, limited)
        ran = Cli(repo).tdd("loop", "run", NAME)
    assert ran.code == 0
    assert "limit: the budget of 4000 tokens is used up" in ran.out
    assert subjects(repo) == []
    assert len(server.requests) < 20


@pytest.mark.timeout(300)
def test_killed_while_the_code_writer_thinks_and_a_server_that_is_gone(tmp_path: Path) -> None:
    silent = [True]

    def script(request: Request) -> Step:
        if silent and "You are the code_writer" in request.text:
            return Stall()
        return honest(request)

    with serving(script) as server:
        repo = made(tmp_path / "project", server)
        cli = Cli(repo)
        words = ["loop", "run", NAME, "--iterations", "1"]
        nothing = os.open(os.devnull, os.O_RDWR)
        running = start_forked_on((nothing, nothing, nothing), words, repo.root, cli.environment())
        os.close(nothing)
        while not any("You are the code_writer" in request.text for request in server.requests):
            assert running.poll() is None
            time.sleep(0.1)
        busy = cli.tdd("loop", "run", NAME)
        assert busy.code != 0
        assert "at work in this repository already" in busy.err
        running.send_signal(signal.SIGKILL)
        running.wait()
        silent.clear()
        ran = cli.tdd("loop", "run", NAME, "--iterations", "1")
        assert ran.code == 0, ran.err
    assert "taken up in the middle of an iteration" in ran.out
    assert subjects(repo) == [f"[Autoloop: {NAME}] Iteration 1: the first item"]
    with no_pauses():
        gone = cli.tdd("loop", "run", NAME, "--iterations", "1")
    assert gone.code == 69
    assert "infrastructure: " in gone.out
