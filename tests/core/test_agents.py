from __future__ import annotations

import pytest

from verdigris.cli.commands import COMMANDS
from verdigris.core.agents import (
    AGENT_VERBS,
    LOCAL_VERBS,
    PERSON_VERBS,
    READING_VERBS,
    is_local,
    refuse_verb,
)


@pytest.mark.parametrize("verb", sorted(AGENT_VERBS | READING_VERBS))
def test_an_agents_verbs_are_served(verb: str) -> None:
    assert refuse_verb([verb, "--json", "x"]) is None


@pytest.mark.parametrize(
    "argv",
    [["off", "--why", "x"], ["init"], ["log", "repair"], ["refactor", "begin", "--uncovered"], ["holdout"]],
)
def test_a_persons_are_not(argv: list[str]) -> None:
    denial = refuse_verb(argv)
    assert denial is not None
    assert denial.rule == "persons-verb"
    assert "prompt" in denial.next


@pytest.mark.parametrize("part", ["activate", "supersede"])
def test_what_a_spec_says_is_a_persons_and_reading_it_is_anybodys(part: str) -> None:
    denial = refuse_verb(["spec", part, "specs/a.md"])
    assert denial is not None
    assert denial.rule == "persons-verb"
    assert not is_local(["spec", part, "specs/a.md"])
    assert is_local(["spec", "lint", "specs/a.md"])


def test_running_and_pausing_programs_is_a_persons_and_looking_at_them_is_anybodys() -> None:
    denial = refuse_verb(["loop", "resume", "port"])
    assert denial is not None
    assert (denial.rule, "prompt" in denial.next) == ("persons-verb", False)
    assert not is_local(["loop", "run", "port"])
    assert is_local(["loop", "status"])


@pytest.mark.parametrize("argv", [["hook", "claude"], ["nonsense"], []])
def test_nor_is_what_nobody_knows(argv: list[str]) -> None:
    assert refuse_verb(argv) is not None


def test_every_command_has_an_owner() -> None:
    assert set(COMMANDS) - {"hook", "exec"} <= AGENT_VERBS | READING_VERBS | PERSON_VERBS | LOCAL_VERBS


def test_help_needs_no_broker() -> None:
    assert is_local(["--help"])
    assert not is_local(["test", "--help"])
