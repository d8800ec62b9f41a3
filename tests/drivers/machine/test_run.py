from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from support.killing import is_killed
from support.machines import (
    EMPTY,
    ONE,
    TALK,
    TEST,
    ZERO,
    Kata,
    edit,
    make_kata,
    recording,
    stop,
)
from support.watchers import ignore_event
from verdigris.core.errors import ModelUnavailable, UserError
from verdigris.core.events import Event, TestBug, TestBugClosed, decode
from verdigris.drivers.happenings import Noted, Refused, RunBegan, StepEnded
from verdigris.drivers.machine.open_machine import open_machine

PRIVATE = "tdd-machine/main"


def outcomes(kata: Kata) -> list[tuple[str, str]]:
    return [(ended.role, ended.outcome) for ended in kata.of(StepEnded)]


def events(kata: Kata, *kinds: type[Event]) -> list[Event]:
    decoded = (decode(record.type, record.data) for record in kata.project.log.records())
    return [event for event in decoded if isinstance(event, kinds)]


def test_a_private_worktree_makes_commits_and_the_users_branch_follows(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project")
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == ["test: an empty string is zero", "feat: the empty string"]
    assert kata.repo.read("calculator.py").decode() == ZERO
    assert kata.repo.git("status", "--porcelain") == ""
    assert kata.repo.head() == kata.repo.git("rev-parse", PRIVATE)
    began = kata.of(RunBegan)[0]
    assert began.worktree != str(kata.root)
    plan = (kata.root / ".tdd/plan/step-1-tester.md").read_text()
    assert plan.endswith("Because of an empty string is zero.\n")
    log = json.loads((kata.root / ".tdd/logs/step-2-implementor.json").read_text())
    assert (log["verdict"], log["commit"]) == ("accepted", kata.repo.head())
    assert log["usage"] == {"prompt": 100, "cached": 60, "completion": 10, "estimated": False}
    assert log["attempts"][0]["runs"][0]["tests"] == {f"{TEST}::test_empty_is_zero": "pass"}
    assert kata.project.log.verify().whole

    kata.repo.write("calculator.py", ZERO + "# mine\n")
    assert kata.run(1).outcome == "steps-made"
    assert len(kata.subjects()) == 2
    assert "stays where it is: your checkout has changes (calculator.py)" in kata.of(Noted)[-2].text
    kata.repo.git("checkout", "--quiet", "--", "calculator.py")
    kata.repo.write("README.md", "a person's commit\n")
    kata.repo.git("merge", "--quiet", "--ff-only", PRIVATE)
    kata.repo.commit("docs: readme")
    assert kata.run(1).outcome == "steps-made"
    assert kata.subjects()[-2:] == ["docs: readme", "test: one number"]
    assert kata.project.state().phase == "red"


def test_a_test_that_cannot_be_met_goes_back_to_the_tester_once(red: Kata) -> None:
    revised = EMPTY.replace("test_empty_is_zero", "test_nothing_is_zero")
    red.plays(
        step_2_implementor=[stop("test-is-wrong", "the name says nothing")],
        step_3_tester=[edit("test", "a better name", {TEST: revised})],
        step_4_implementor=[stop("test-is-wrong", "still")],
    )
    assert red.run(3).outcome == "test-is-wrong"
    assert outcomes(red) == [
        ("implementor", "sent-back"),
        ("tester", "committed"),
        ("implementor", "test-is-wrong"),
    ]
    assert [type(event) for event in events(red, TestBug, TestBugClosed)] == [TestBug, TestBugClosed]
    assert "test_nothing_is_zero" in red.repo.read(TEST).decode()
    # Stopped is not passed: the same step is next.
    red.plays(step_4_implementor=[edit("feat", "zero", {"calculator.py": ZERO})])
    assert red.run(1).outcome == "steps-made"
    assert red.subjects()[-1] == "feat: zero"


def test_a_sent_back_tester_may_not_weaken_what_was_accepted(green: Kata) -> None:
    green.plays(
        step_3_refactorer=[stop("nothing-to-do", "fine")],
        step_5_implementor=[stop("test-is-wrong", "no")],
        step_6_tester=[edit("test", "weaker", {TEST: ONE.replace("add('') == 0", "add('') is not None")})]
        * 3,
    )
    assert green.run(4).outcome == "blocked"
    assert outcomes(green)[0] == ("refactorer", "nothing-to-do")
    assert len(green.subjects()) == 3
    assert "the suite lost something" in green.of(Refused)[-1].why


def test_a_kata_that_is_done_is_a_result(kata: Kata) -> None:
    kata.repo.write(TALK, recording({"step-1-tester": [stop("kata-done", "all of it is shown")]}))
    assert kata.run(20).outcome == "kata-done"
    assert kata.project.state().machine.last == 0


def test_a_hook_that_refuses_is_answered_by_the_next_attempt(red: Kata) -> None:
    script = "grep -q typed calculator.py || { echo 'please type it'; exit 1; }"
    red.repo.write(".git/hooks/pre-commit", f"#!/bin/sh\n{script}\n", executable=True)
    typed = edit("feat", "zero, typed", {"calculator.py": "# typed\n" + ZERO})
    red.plays(step_2_implementor=[edit("feat", "zero", {"calculator.py": ZERO}), typed])
    assert red.run(1).outcome == "steps-made"
    assert "hook" in red.of(Refused)[0].why
    assert red.repo.read("calculator.py").decode().startswith("# typed\n")
    assert red.subjects()[-1] == "feat: zero"
    assert red.repo.git("status", "--porcelain") == ""


def test_a_hook_that_changes_what_was_judged_is_refused(red: Kata) -> None:
    script = "echo '# by a hook' >> calculator.py\ngit add calculator.py"
    red.repo.write(".git/hooks/pre-commit", f"#!/bin/sh\n{script}\n", executable=True)
    red.plays(step_2_implementor=[edit("feat", "zero", {"calculator.py": ZERO}), stop("kata-is-wrong", "?")])
    assert red.run(1).outcome == "kata-is-wrong"
    assert "a hook changed calculator.py" in red.of(Refused)[0].why
    assert red.subjects() == ["test: an empty string is zero"]
    assert red.repo.read("calculator.py").decode() == ZERO, "accepted, and waiting to be committed"


def test_a_dirty_tree_is_no_place_to_work(red: Kata) -> None:
    red.repo.write("notes.txt", "mine\n")
    with pytest.raises(UserError, match=r"notes\.txt"):
        red.run(1)


def test_a_second_machine_says_so(kata: Kata) -> None:
    with open_machine(kata.root, ignore_event), pytest.raises(UserError, match="already"):
        kata.run(1)


def test_a_used_up_budget_ends_cleanly_and_the_next_run_goes_on(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", "machine: {sandbox: false}\nbudget: {tokens: 100}\n")
    ended = kata.run(2)
    assert (ended.outcome, ended.tokens) == ("budget-used-up", 110)
    assert kata.repo.git("status", "--porcelain") == ""
    kata.repo.write("tdd.yaml", kata.repo.read("tdd.yaml").replace(b"tokens: 100", b"tokens: 10000"))
    kata.repo.git("commit", "--quiet", "--all", "--message", "more")
    assert kata.run().outcome == "steps-made"
    assert kata.of(RunBegan)[-1].resumed
    assert len(kata.subjects()) == 3


@pytest.mark.quick
def test_a_model_that_is_gone_leaves_a_run_that_can_be_resumed(red: Kata) -> None:
    red.repo.write(TALK, recording({}))
    with pytest.raises(ModelUnavailable):
        red.run(1)
    red.plays()
    assert red.run(1).outcome == "steps-made"
    assert red.of(RunBegan)[-1].resumed


def test_no_secret_and_no_held_out_test_reaches_anything_that_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "hush-hush-1234567890"
    monkeypatch.setenv("A_KEY", secret)
    config = "machine: {sandbox: false, max_attempts_per_agent: 1}\nllm: {api_key_env: A_KEY, base_url: 'http://localhost:9/v1'}\n"
    kata = make_kata(tmp_path / "project", config)
    leaky = edit(
        "test",
        f"leak {secret}",
        {TEST: EMPTY, "calculator.py": "def add(numbers):  # STUB:TDD\n    return -1\n"},
    )
    kata.repo.write(TALK, recording({"step-1-tester": [leaky.replace("Because", f"{secret} because")]}))
    kata.repo.write(".git/hooks/post-commit", "#!/bin/sh\nenv > .git/seen-by-hook\n", executable=True)
    kata.run(1)
    assert kata.subjects() == ["test: leak [A_KEY]"]
    assert (kata.root / ".git/seen-by-hook").exists()
    written = [path for path in kata.root.rglob("*") if path.is_file() and ".git/objects" not in str(path)]
    assert [path for path in written if secret.encode() in path.read_bytes() and path.name != TALK] == []
    assert secret not in kata.repo.git("log", "-p", "--all")


# -- killed anywhere ----------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_anywhere_a_run_ends_with_the_same_commits(tmp_path: Path) -> None:
    """In each step one place later than the time before, until the step is made."""
    config = "machine: {steps: 3}\n"
    undisturbed = make_kata(tmp_path / "a" / "project", config)
    undisturbed.run()
    kata = make_kata(tmp_path / "b" / "project", config)
    kills: Counter[int] = Counter()
    made, branch, commits = 0, kata.root / ".git/refs/heads" / PRIVATE, {"": 0}
    while is_killed(kata.run, kills[made] + 1, writes=True):
        kills[made] += 1
        tip = branch.read_text() if branch.exists() else ""
        if tip not in commits:
            commits[tip] = len(kata.subjects(PRIVATE))
        made = commits[tip]
    assert min(kills[step] for step in range(3)) > 10, "in each step, so many times"
    assert kata.commits() == undisturbed.commits()
    assert kata.project.log.verify().whole
    assert kata.repo.git("status", "--porcelain") == ""
