"""The GitHub action: its metadata hold together, and its steps do what they say, run by bash."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.gitrepo import GitRepo
from support.small_histories import ADD, SUB, TEST_SUB, add_commit, begin

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
ZERO = "0" * 40


@pytest.mark.quick
def test_the_metadata_have_what_github_asks_and_nothing_else() -> None:
    assert ACTION.keys() == {"name", "description", "author", "branding", "inputs", "outputs", "runs"}
    assert ACTION["runs"].keys() == {"using", "steps"}
    assert ACTION["runs"]["using"] == "composite"
    for given in ACTION["inputs"].values():
        assert given.keys() == {"description", "default"}
        assert isinstance(given["default"], str)
    for step in STEPS:
        assert step.keys() <= {"id", "name", "shell", "env", "run"}
        assert step["shell"] == "bash"


@pytest.mark.quick
def test_expressions_name_what_there_is_and_none_stands_in_a_script() -> None:
    """What stands in a script would be run: a branch's name may hold a command."""
    used = [
        *(str(word) for step in STEPS for word in step.get("env", {}).values()),
        *(output["value"] for output in ACTION["outputs"].values()),
    ]
    names = [name for text in used for found in EXPRESSION.findall(text) for name in found.split(" || ")]
    for name in names:
        match name.split("."):
            case ["inputs", known]:
                assert known in ACTION["inputs"]
            case ["steps", step_id, "outputs", written]:
                [script] = [step["run"] for step in STEPS if step.get("id") == step_id]
                assert f'echo "{written}=' in script
            case ["github", *_]:
                pass
            case _:
                pytest.fail(name)
    assert not any("${{" in step["run"] for step in STEPS)


@pytest.mark.quick
def test_the_hook_of_pre_commit_runs_before_a_push_and_takes_no_files() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["entry"], hook["stages"]) == ("tdd audit pre-push", ["pre-push"])
    assert (hook["pass_filenames"], hook["always_run"]) == (False, True)


class Runner:
    """Runs the steps one after another as GitHub does; `event` is what `github` holds."""

    def __init__(self, repo: GitRepo, temp: Path) -> None:
        self.repo, self.temp = repo, temp
        self.outputs: dict[str, dict[str, str]] = {}
        self.said = ""
        tdd = temp / "verdigris" / "bin" / "tdd"
        tdd.parent.mkdir(parents=True)
        tdd.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m verdigris "$@"\n')
        tdd.chmod(0o755)

    def run(self, event: dict[str, str], upto: str = "audit", **inputs: str) -> int:
        given = {
            name: inputs.get(name.replace("-", "_"), one["default"]) for name, one in ACTION["inputs"].items()
        }
        for step in STEPS:
            code = self._step(step, event, given)
            if code or step.get("id") == upto:
                return code
        return 0

    def _step(self, step: dict[str, Any], event: dict[str, str], inputs: dict[str, str]) -> int:
        out = self.temp / "output"
        out.write_text("")
        env = {name: self._value(text, event, inputs) for name, text in step.get("env", {}).items()}
        github = {
            "VIRTUAL_ENV": sys.prefix,  # which has pytest, wherever `python3` leads on this machine
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.repo.root,
            env={**self.repo.environment, "CI": "true", **github, **env},
            capture_output=True,
            text=True,
            check=False,
        )
        self.said += done.stdout + done.stderr
        written = dict(line.split("=", 1) for line in out.read_text().splitlines())
        self.outputs[step.get("id", step["name"])] = written
        return done.returncode

    def _value(self, text: str, event: dict[str, str], inputs: dict[str, str]) -> str:
        def resolve(found: re.Match[str]) -> str:
            values = [self._name(name, event, inputs) for name in found[1].split(" || ")]
            return next(filter(None, values), "")

        return EXPRESSION.sub(resolve, text)

    def _name(self, name: str, event: dict[str, str], inputs: dict[str, str]) -> str:
        kind, _, rest = name.partition(".")
        if kind == "inputs":
            return inputs[rest]
        if kind == "steps":
            step, _, output = rest.split(".")
            return self.outputs[step].get(output, "")
        return event.get(rest, "")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """`main`, and `work`: a test-driven commit, then one that drops its check; main has gone on meanwhile."""
    repo = begin(tmp_path_factory.mktemp("action") / "origin")
    repo.git("branch", "-M", "main")
    repo.git("checkout", "--quiet", "-b", "work")
    add_commit(repo, "Add sub", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB})
    repo.git("branch", "good")
    add_commit(repo, "Trust sub", {"tests/test_sub.py": TEST_SUB.replace("assert", "assert True or")})
    repo.git("checkout", "--quiet", "main")
    add_commit(repo, "Go on", {"NOTES.md": "on\n"})
    repo.git("checkout", "--quiet", "-b", "merge")
    repo.git("merge", "--quiet", "--no-edit", "work")
    return repo


def _checkout(origin: GitRepo, folder: Path, *words: str) -> GitRepo:
    """As `actions/checkout` leaves it: a detached HEAD."""
    origin.git("clone", "--quiet", *words, f"file://{origin.root}", str(folder))
    repo = GitRepo(folder, origin.home)
    repo.git("checkout", "--quiet", "--detach")
    return repo


def _pull_request(origin: GitRepo, head: str) -> dict[str, str]:
    return {
        "event.pull_request.base.sha": origin.git("rev-parse", "main"),
        "event.pull_request.head.sha": origin.git("rev-parse", head),
        "sha": origin.git("rev-parse", "merge"),
    }


@pytest.mark.slow
def test_a_pull_request_is_audited_as_one_change_though_head_is_a_shallow_merge(
    origin: GitRepo, tmp_path: Path
) -> None:
    repo = _checkout(origin, tmp_path / "repo", "--depth=1", "--branch", "merge")
    runner = Runner(repo, tmp_path / "temp")
    assert runner.run(_pull_request(origin, "good")) == 0, runner.said
    audited = runner.outputs["audit"]
    assert json.loads(audited["summary"]) == {"test-driven": 1}
    assert audited["failed"] == "false"
    assert "1 change: 1 test-driven" in (tmp_path / "temp/summary.md").read_text()
    assert all(Path(audited[name]).is_file() for name in ("report", "html", "sarif"))
    assert "this checkout is shallow: fetching" in runner.said


@pytest.mark.slow
def test_commit_by_commit_a_weakened_check_fails_the_step_with_annotations(
    origin: GitRepo, tmp_path: Path
) -> None:
    repo = _checkout(origin, tmp_path / "repo", "--branch", "merge")
    runner = Runner(repo, tmp_path / "temp")
    assert runner.run(_pull_request(origin, "work"), squash="false") == 1
    assert runner.outputs["audit"]["failed"] == "true"
    assert json.loads(runner.outputs["audit"]["summary"]) == {"test-driven": 1, "weakened": 1}
    assert "::error file=tests/test_sub.py,line=" in runner.said


def test_a_push_is_audited_from_what_was_there_before(origin: GitRepo, tmp_path: Path) -> None:
    repo = _checkout(origin, tmp_path / "repo", "--branch", "work")
    runner = Runner(repo, tmp_path / "temp")
    before, after = origin.git("rev-parse", "good"), origin.git("rev-parse", "work")
    assert runner.run({"event.before": before, "sha": after}, upto="range") == 0
    assert runner.outputs["range"]["range"] == f"{before}..{after}"
    assert runner.run({"event.before": ZERO, "sha": after}, upto="range") == 0
    assert runner.outputs["range"]["range"] == after


def test_a_range_that_is_given_is_taken_as_it_is(origin: GitRepo, tmp_path: Path) -> None:
    runner = Runner(_checkout(origin, tmp_path / "repo"), tmp_path / "temp")
    assert runner.run(_pull_request(origin, "work"), upto="range", range="good..work") == 0
    assert runner.outputs["range"]["range"] == "good..work"


def test_a_shallow_clone_that_cannot_be_deepened_is_told_the_exact_line(
    origin: GitRepo, tmp_path: Path
) -> None:
    repo = _checkout(origin, tmp_path / "repo", "--depth=1", "--branch", "merge")
    repo.git("remote", "set-url", "origin", str(tmp_path / "nowhere"))
    runner = Runner(repo, tmp_path / "temp")
    assert runner.run(_pull_request(origin, "work"), upto="range") == 1
    assert "Give actions/checkout 'with: { fetch-depth: 0 }'." in runner.said


def test_a_job_without_a_checkout_is_told_what_to_put_before(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    runner = Runner(GitRepo(tmp_path / "empty", tmp_path), tmp_path / "temp")
    assert runner.run({"sha": "1" * 40}, upto="range") == 1
    assert "uses: actions/checkout@v4" in runner.said


def test_an_audit_without_an_answer_says_so_and_fails(origin: GitRepo, tmp_path: Path) -> None:
    runner = Runner(_checkout(origin, tmp_path / "repo"), tmp_path / "temp")
    assert runner.run({"sha": "1" * 40}, range="nowhere..HEAD") == 2
    assert "there is no commit 'nowhere'" in runner.said
    assert "::error title=tdd audit::The audit came to no answer (exit code 2)" in runner.said


def test_where_the_runner_forbids_namespaces_they_are_allowed_by_sysctl(
    origin: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unshare` works here once `sudo sysctl` was called as it should be."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "unshare").write_text(f'#!/bin/sh\ntest -e "{tmp_path}/allowed"\n')
    (tools / "sudo").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/asked"\ntouch "{tmp_path}/$ALLOWS"\n'
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    runner = Runner(origin, tmp_path / "temp")
    step = next(step for step in STEPS if step["name"] == "Allow the sandbox")
    for allows, warned in (("nothing", True), ("allowed", False)):
        monkeypatch.setenv("ALLOWS", allows)
        runner.said = ""
        assert runner._step(step, {}, {}) == 0
        assert ("::warning title=tdd audit::" in runner.said) == warned
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["-n sysctl -q -w kernel.apparmor_restrict_unprivileged_userns=0"] * 2


@pytest.mark.skipif(shutil.which("python3") is None, reason="the action's step calls python3")
def test_an_old_python_is_told_before_anything_is_installed(
    origin: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    old = tmp_path / "bin/python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    runner = Runner(origin, tmp_path / "temp")
    shutil.rmtree(tmp_path / "temp/verdigris")
    step = next(step for step in STEPS if step["name"] == "Install Verdigris")
    assert runner._step(step, {"action_path": str(ROOT)}, {"env": "present"}) == 1
    assert "Verdigris needs Python 3.11. Put 'uses: actions/setup-python@v5'" in runner.said


@pytest.mark.parametrize(("wanted", "brought"), [("lock", True), ("uv", True), ("present", False)])
def test_uv_comes_along_where_environments_are_built(
    origin: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, *, brought: bool
) -> None:
    runner = Runner(origin, tmp_path / "temp")
    python = tmp_path / "temp/verdigris/bin/python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> "{tmp_path}/installed"\n')
    python.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bash").symlink_to(shutil.which("bash") or "bash")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    step = next(step for step in STEPS if step["name"] == "Install Verdigris")
    assert runner._step(step, {"action_path": str(ROOT)}, {"env": wanted}) == 0
    assert (tmp_path / "installed").exists() is brought
