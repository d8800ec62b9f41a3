"""`commit.squash: cycle`: red, green and refactor become one commit, which is green."""

from __future__ import annotations

from pathlib import Path

from support.machines import make_kata, stop
from support.watchers import ignore_event
from verdigris.drivers.machine import history
from verdigris.drivers.machine.commit import cycle_message
from verdigris.drivers.machine.history import REFACTORER, TESTER
from verdigris.drivers.machine.open_machine import open_machine
from verdigris.drivers.machine.run import where

SQUASH = "commit: {squash: cycle}\n"
RED = """\
test: an empty string is zero

The first rule.

TDD-Role: tester
TDD-Step: 1
TDD-Test: t.py::test_empty
TDD-Verdict: red
TDD-Oracle: sha256:01
"""
GREEN = """\
feat: the empty string

A constant is enough.

TDD-Role: implementor
TDD-Step: 2
TDD-Test: t.py::test_empty
TDD-Verdict: accepted
TDD-Oracle: sha256:02
"""


def test_a_message_is_headed_by_what_was_built_and_keeps_every_trailer() -> None:
    assert cycle_message([RED, GREEN], 3) == (
        "feat: the empty string\n\n"
        "test: an empty string is zero:\n\nThe first rule.\n\nA constant is enough.\n\n"
        "TDD-Role: tester\nTDD-Step: 1\nTDD-Test: t.py::test_empty\nTDD-Verdict: red\n"
        "TDD-Role: implementor\nTDD-Step: 2\nTDD-Test: t.py::test_empty\nTDD-Verdict: accepted\n"
        "TDD-Oracle: sha256:02\nTDD-Role: refactorer\nTDD-Step: 3\n"
    )


def test_the_users_branch_gets_one_green_commit_a_cycle_and_a_run_goes_on_from_it(tmp_path: Path) -> None:
    kata = make_kata(tmp_path / "project", f"{SQUASH}machine: {{steps: 4}}\n")
    kata.plays(step_6_refactorer=[stop("nothing-to-do", "fine")])
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == [], "nothing that is red, and no half of a cycle"
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == ["feat: the empty string"]
    assert kata.run(2).outcome == "steps-made"
    assert kata.subjects() == ["feat: the empty string", "feat: one number"]
    assert kata.repo.git("status", "--porcelain") == ""
    assert kata.repo.head() == kata.repo.git("rev-parse", "tdd-machine/main")
    made = history.machine_commits(kata.root)
    assert [(each.step, each.role, each.squashed) for each in made] == [
        (6, REFACTORER, True),
        (3, REFACTORER, True),
    ]
    trailers = kata.repo.run("interpret-trailers", "--parse", stdin=kata.repo.run("log", "-1", "--format=%B"))
    assert trailers.decode().count("TDD-Role: ") == 3
    assert b"TDD-Red: " in trailers
    with open_machine(kata.root, ignore_event) as machine:
        assert (where(machine).step, where(machine).role) == (7, TESTER)
    assert kata.project.log.verify().whole
    assert kata.run(2).outcome == "steps-made"
