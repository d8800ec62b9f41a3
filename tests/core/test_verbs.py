from __future__ import annotations

import pytest

from verdigris.cli.commands import COMMANDS
from verdigris.core.verbs import AGENTS, LOCAL, PERSONS, READING, local, refusal


@pytest.mark.parametrize("verb", sorted(AGENTS | READING))
def test_an_agents_verbs_are_served(verb: str) -> None:
    assert refusal([verb, "--json", "x"]) is None


@pytest.mark.parametrize(
    "argv",
    [["off", "--why", "x"], ["init"], ["log", "repair"], ["refactor", "begin", "--uncovered"], ["holdout"]],
)
def test_a_persons_are_not(argv: list[str]) -> None:
    denial = refusal(argv)
    assert denial is not None
    assert denial.rule == "persons-verb"
    assert "prompt" in denial.next


@pytest.mark.parametrize("part", ["activate", "supersede"])
def test_what_a_spec_says_is_a_persons_and_reading_it_is_anybodys(part: str) -> None:
    denial = refusal(["spec", part, "specs/a.md"])
    assert denial is not None
    assert denial.rule == "persons-verb"
    assert not local(["spec", part, "specs/a.md"])
    assert local(["spec", "lint", "specs/a.md"])


def test_running_and_pausing_programs_is_a_persons_and_looking_at_them_is_anybodys() -> None:
    denial = refusal(["loop", "resume", "port"])
    assert denial is not None
    assert (denial.rule, "prompt" in denial.next) == ("persons-verb", False)
    assert not local(["loop", "run", "port"])
    assert local(["loop", "status"])


@pytest.mark.parametrize("argv", [["hook", "claude"], ["nonsense"], []])
def test_nor_is_what_nobody_knows(argv: list[str]) -> None:
    assert refusal(argv) is not None


def test_every_command_has_an_owner() -> None:
    assert set(COMMANDS) - {"hook", "exec"} <= AGENTS | READING | PERSONS | LOCAL


def test_help_needs_no_broker() -> None:
    assert local(["--help"])
    assert not local(["test", "--help"])
