"""A cycle as a user runs it: the real command, a model behind a real socket, real git, pytest and vitest."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.cli import Cli
from support.cycle_runs import cast, honest, judged
from support.cycles import SPEC_PATH, TEST_PATH, TESTS, make_cycle
from support.forked import start_forked
from support.gitrepo import GitRepo
from support.machines import edit
from support.node_tools import installed, present
from support.openai_server import Request, Server, Stall, Step, rate_limited, serving
from support.pages import project_files
from support.tool_worlds import NODE_CONFIG, make_tool_world

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("remembered_runs")]


def config(server: Server) -> str:
    return f"roles:\n{cast('scripted')}llm: {{base_url: '{server.url}', timeout: 20}}\n"


def passes(repo: GitRepo, commit: str, place: Path) -> bool:
    repo.git("worktree", "add", "--quiet", "--detach", str(place), commit)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(words, cwd=place, env=os.environ, capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(300)
def test_a_spec_becomes_evidence_though_the_coder_first_reaches_for_the_tests(tmp_path: Path) -> None:
    cheats: list[Step] = [edit("feat", "an easier test", {TEST_PATH: TESTS.replace("== 1", "== 0")})]

    def script(request: Request) -> Step:
        return cheats.pop() if cheats and "You are the coder" in request.text else honest(request)

    with serving(script) as server:
        repo = make_cycle(tmp_path / "project", config=config(server)).repo
        cli = Cli(repo)
        ran = cli.tdd("cycle", "run", SPEC_PATH, "--json", "--record", str(tmp_path / "talk.jsonl"))
    assert (ran.code, ran.err) == (0, "")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert told[0]["event"] == "cycle_began"
    ends = [(one["role"], one["outcome"]) for one in told if one["event"] == "step_ended"]
    assert ends == [
        ("planner", "committed"),
        ("test_author", "handed-in"),
        ("validator", "PASS"),
        ("coder", "committed"),
    ]
    assert [one["why"].partition(";")[0] for one in told if one["event"] == "refused"] == [
        f"{TEST_PATH}: it belongs to the tests, which are frozen"
    ]
    assert told[-1] | {"event": "run_ended", "outcome": "cycle-done", "steps": 4} == told[-1]
    commits = repo.git("rev-list", "--reverse", "main").split()[1:]
    assert [passes(repo, commit, tmp_path / commit) for commit in commits] == [True, False, True]
    assert cli.tdd("cycle", "verify", "EVID-001").out == "● EVID-001 holds: log and git say the same\n"
    again = cli.tdd("cycle", "run", SPEC_PATH)
    assert (again.code, "SPEC-001 is implemented: EVID-001" in again.out) == (0, True)


@pytest.mark.timeout(300)
def test_killed_while_the_coder_thinks_and_a_server_that_is_gone(tmp_path: Path) -> None:
    silent = [True]

    def script(request: Request) -> Step:
        return Stall() if silent and "You are the coder" in request.text else honest(request)

    with serving(script) as server:
        repo = make_cycle(tmp_path / "project", config=config(server)).repo
        cli = Cli(repo)
        process = start_forked(["cycle", "run", SPEC_PATH], repo.root, cli.environment())
        while process.poll() is None and not any(
            "You are the coder" in request.text for request in server.requests
        ):
            time.sleep(0.05)
        process.kill()
        shown, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert "step 3: validator: PASS: no finding" in shown
        silent.clear()
        ran = cli.tdd("cycle", "run", SPEC_PATH)
    assert ran.code == 0, ran
    assert "cycle c1 on SPEC-001, taken up again in stage green, for main" in ran.out
    assert "ACTIVATE SPEC-001 EVID-001" in ran.out
    assert repo.git("status", "--porcelain") == ""

    with serving(lambda _: rate_limited("9999")) as server:
        gone = make_cycle(tmp_path / "gone" / "project", config=config(server))
        ran = Cli(gone.repo).tdd("cycle", "run", SPEC_PATH)
    assert ran.code == 69, ran
    assert gone.cycle.stage == "plan"


# -- TypeScript -------------------------------------------------------------------------------

CART_PLAN, CART_TESTS, CART_STUB, CART_CODE = project_files("cart_cycle_later").values()
ANSWERS: Mapping[str, str] = {
    "planner": edit("docs", "the plan", {".tdd/plans/cart.md": CART_PLAN}),
    "test_author": edit("test", "cheapest", {"src/cheapest.test.ts": CART_TESTS, "src/cart.ts": CART_STUB}),
    "validator": judged("PASS"),
    "coder": edit("feat", "cheapest", {"src/cart.ts": CART_CODE}),
}


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("recorded_tools")
def test_a_spec_becomes_typescript_that_vitest_proves(tmp_path: Path) -> None:
    present()

    def script(request: Request) -> Step:
        found = re.search(r"You are the (\w+), in step", request.text)
        assert found
        return ANSWERS[found[1]]

    with serving(script) as server:
        packages = installed("vitest@2")
        repo = make_tool_world(
            tmp_path / "cart", NODE_CONFIG + config(server), project_files("cart_cycle"), packages
        ).repo
        ran = Cli(repo).tdd("cycle", "run", "specs/cart.md")
    assert ran.code == 0, ran
    assert "ACTIVATE CART EVID-001" in ran.out
    assert Cli(repo).tdd("cycle", "verify", "EVID-001").code == 0
    subjects = repo.git("log", "--format=%s", "-3").splitlines()
    assert subjects[:2] == ["feat: CART, shown by 2 tests", "test: the scenarios of CART"]
    assert repo.read("src/cart.ts").decode() == CART_CODE
