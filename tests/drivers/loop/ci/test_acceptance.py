"""CI: a command, or the remote's checks through a `gh` that is a script here; and what follows."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from support.turns import CALC, TEST_ADD, make_world
from verdigris.core.records import Actor
from verdigris.drivers.loop.ci.acceptance import (
    BACK_OFF,
    Accept,
    AskAgain,
    AskLater,
    CiAnswer,
    Fix,
    GithubChecks,
    Pause,
    ask_command,
    follow_answer,
)
from verdigris.drivers.loop.events import CheckedByCi
from verdigris.storage.project import Project, open_project

COMMIT = "c" * 40
PASSED, TIMED_OUT = CiAnswer("passed"), CiAnswer("timeout")
GH = """\
#!{python} -IS
import json, sys
home = {home!r}
said = " ".join(sys.argv[1:])
with open(home + "/asked", "a") as asked:
    asked.write(said + "\\n")
with open(home + "/answers.json") as file:
    answers = json.load(file)
for beginning, replies in answers.items():
    if said.startswith(beginning):
        with open(home + "/asked") as asked:
            count = sum(line.startswith(beginning) for line in asked)
        code, text = replies[min(count, len(replies)) - 1]
        print(text)
        sys.exit(code)
print("no pull requests found for branch")
sys.exit(1)
"""


# -- a command --------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_world(tmp_path / "repo", **{"calc.py": CALC, "test_calc.py": TEST_ADD})
    return open_project(made.root, Actor())


def test_a_command_that_ends_well_accepts(project: Project) -> None:
    command = "python -m pytest -q test_calc.py"
    assert ask_command(project, command, 5) == PASSED


def test_a_command_that_fails_says_which_tests_did(project: Project) -> None:
    (project.root / "calc.py").write_text(CALC.replace("a + b", "a - b"))
    found = ask_command(project, "python -m pytest -q test_calc.py", 5)
    assert found.outcome == "failed"
    assert found.signature == "test_calc.py::test_add (AssertionError)"
    assert found.signature.startswith("test_calc.py::test_add")
    assert "1 failed" in found.output


def test_a_command_that_does_not_end_is_stopped(project: Project) -> None:
    assert ask_command(project, "sleep 60", 0.01) == TIMED_OUT


def test_what_a_command_writes_stays_in_its_room(project: Project) -> None:
    before = sorted(project.root.iterdir())
    assert ask_command(project, "touch made-by-ci", 1) == PASSED
    assert sorted(project.root.iterdir()) == before


# -- the remote's checks ----------------------------------------------------------------------


@dataclass
class Github:
    home: Path
    waited: list[float] = field(default_factory=list)

    def says(self, **answers: list[Any]) -> None:
        """By the beginning of a call, its replies one after another; the last one stays."""
        replies = {
            name.replace("_", " "): [
                reply if isinstance(reply, tuple) else (0, json.dumps(reply)) for reply in given
            ]
            for name, given in answers.items()
        }
        (self.home / "answers.json").write_text(json.dumps(replies))

    def ask(self, minutes: float = 60) -> CiAnswer:
        checks = GithubChecks(self.home, minutes, self.waited.append, lambda: sum(self.waited))
        return checks.ask(COMMIT, "autoloop/port")

    @property
    def asked(self) -> list[str]:
        return (self.home / "asked").read_text().splitlines()


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Github:
    shim = tmp_path / "bin/gh"
    shim.parent.mkdir()
    shim.write_text(GH.format(python=sys.executable, home=str(tmp_path)))
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    return Github(tmp_path)


def run_(status: str, conclusion: str = "", number: int = 1) -> dict[str, Any]:
    return {"databaseId": number, "name": "build", "status": status, "conclusion": conclusion}


def test_the_remotes_checks_are_waited_for(github: Github) -> None:
    github.says(run_list=[[], [run_("queued")], [run_("in_progress")], [run_("completed", "success")]])
    assert github.ask() == PASSED
    assert github.waited == [10, 20, 40]
    assert f"run list --commit {COMMIT}" in github.asked[0]


def test_a_failed_run_is_read_from_its_log(github: Github) -> None:
    log = "test\tRun\t2026-05-17T04:00:00.1Z FAILED tests/test_a.py::test_a - assert 1 == 2\n"
    github.says(run_list=[[run_("completed", "failure", 7)]], run_view=[(0, log)])
    found = github.ask()
    assert found.outcome == "failed"
    assert found.signature == "tests/test_a.py::test_a (AssertionError)"
    assert "run view 7 --log-failed" in github.asked[-1]


def test_a_failed_run_without_a_log_is_known_by_its_name(github: Github) -> None:
    github.says(run_list=[[run_("completed", "startup_failure")]], run_view=[(1, "log not found")])
    found = github.ask()
    assert found.outcome == "failed"
    assert found.signature.startswith("build: startup_failure")


def test_checks_of_other_services_count_where_the_pull_request_is_of_this_commit(github: Github) -> None:
    other = [{"name": "coverage", "bucket": "fail", "workflow": ""}]
    done = [[run_("completed", "success")]]
    github.says(run_list=done, pr_view=[{"headRefOid": COMMIT}], pr_checks=[(1, json.dumps(other))])
    found = github.ask()
    assert found.outcome == "failed"
    assert found.signature.startswith("coverage: fail")
    github.says(run_list=done, pr_view=[{"headRefOid": "another"}], pr_checks=[(1, json.dumps(other))])
    assert github.ask() == PASSED


def test_a_run_that_does_not_end_in_time_is_a_time_out_unless_another_failed(github: Github) -> None:
    github.says(run_list=[[run_("in_progress")]])
    assert github.ask(minutes=2) == TIMED_OUT
    assert sum(github.waited) < 200
    both = [run_("in_progress"), {**run_("completed", "failure", 0), "name": "lint"}]
    github.says(run_list=[both])
    found = github.ask(minutes=2)
    assert found.outcome == "failed"
    assert found.signature.startswith("lint: failure")


def test_a_gh_that_cannot_answer_and_a_run_that_was_cancelled_are_infrastructure(github: Github) -> None:
    github.says(run_list=[(1, "error connecting to api.github.com\ncheck your internet connection")])
    assert github.ask() == CiAnswer("unreachable", "gh run list: error connecting to api.github.com")
    github.says(run_list=[[run_("completed", "cancelled")]])
    assert github.ask() == CiAnswer("unreachable", "build was cancelled")


def test_a_push_that_starts_no_check_is_said_and_not_waited_for_all_night(github: Github) -> None:
    github.says(run_list=[[]])
    found = github.ask()
    assert found.outcome == "unreachable"
    assert "began no check" in found.why
    assert 300 <= sum(github.waited) < 400


def test_without_gh_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = GithubChecks(tmp_path).ask(COMMIT, "x")
    assert (answer.outcome, answer.why[:20]) == ("passed", "`gh` is not installed"[:20])


# -- what follows -----------------------------------------------------------------------------


def checked(outcome: str, signature: str = "") -> CheckedByCi:
    return CheckedByCi(program="port", iteration=1, commit="c", outcome=outcome, signature=signature)


FAILED, DOWN = CiAnswer("failed", signature="a"), CiAnswer("unreachable", "down")
UNREACHABLE = checked("unreachable")


@pytest.mark.parametrize(
    ("answer", "before", "follows"),
    [
        (PASSED, [checked("failed", "a")], Accept()),
        (CiAnswer("passed", "no gh"), [], Accept("no gh")),
        (FAILED, [], Fix(1)),
        (FAILED, [checked("failed", "a")], Pause("stuck in CI fix loop: a")),
        (FAILED, [checked("failed", "a"), UNREACHABLE], Pause("stuck in CI fix loop: a")),
        (FAILED, [checked("failed", "a"), checked("failed", "b")], Fix(3)),
        (FAILED, [checked("failed", x) for x in "bcdeb"], Pause("ci-fix-exhausted: a")),
        (FAILED, [checked("failed", x) for x in "bcde"], Fix(5)),
        (TIMED_OUT, [], Pause("ci-timeout")),
        (DOWN, [], AskAgain(BACK_OFF[0])),
        (DOWN, [checked("failed", "a"), UNREACHABLE], AskAgain(BACK_OFF[1])),
        (DOWN, [UNREACHABLE] * len(BACK_OFF), AskLater("down")),
        (FAILED, [UNREACHABLE] * 9, Fix(1)),
    ],
)
def test_what_follows_from_an_answer(answer: CiAnswer, before: list[CheckedByCi], follows: object) -> None:
    assert follow_answer(answer, before) == follows
