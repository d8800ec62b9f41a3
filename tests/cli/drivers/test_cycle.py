"""A cycle by hand, from a spec to evidence, and everything that is refused on the way."""

from __future__ import annotations

import pytest

from support.cli import Cli, Ran
from support.cycles import CODE, PLAN, PLAN_PATH, SMALLER, SPEC, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.turns import CALC


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """Set up, with a suite that passes and an active spec, all of it committed."""
    cli.repo.write("calc.py", CALC)
    cli.repo.write(SPEC_PATH, SPEC)
    cli.repo.git("add", "-A")
    cli.repo.git("commit", "-qm", "a spec")
    return cli


def cycle(cli: Cli, *words: str, code: int = 0) -> Ran:
    done = cli.tdd("cycle", *words)
    assert done.code == code, done.out + done.err
    return done


def to_red(cli: Cli) -> None:
    cycle(cli, "start", SPEC_PATH)
    cli.repo.write(PLAN_PATH, PLAN)
    cycle(cli, "advance", "--as", "ada")


def to_validate(cli: Cli) -> None:
    to_red(cli)
    cli.repo.write("calc.py", STUB)
    cli.repo.write(TEST_PATH, TESTS)
    cycle(cli, "advance", "--as", "bob")


def to_green(cli: Cli) -> None:
    to_validate(cli)
    cycle(cli, "validate")
    cycle(cli, "freeze")


def test_a_cycle_ends_in_evidence_that_holds(cli: Cli) -> None:
    to_green(cli)
    cli.repo.write("calc.py", CODE)
    settled = cli.tdd("settle")
    assert settled.code == 0, settled.out + settled.err
    done = cycle(cli, "advance", "--as", "eve")

    assert "TDD cycle complete for SPEC-001 (branch main)" in done.out
    assert "ACTIVATE SPEC-001 EVID-001" in done.out
    assert cycle(cli, "verify", "EVID-001").out == "● EVID-001 holds: log and git say the same\n"
    page = (cli.root / ".tdd/evidence/EVID-001.md").read_text()
    assert f"| `{SMALLER}` |" in page
    assert "| test author | `cli/person/bob` |" in page
    subjects = cli.repo.git("log", "--format=%s", "-3").splitlines()
    assert subjects == [
        "feat: SPEC-001, shown by 2 tests",
        "test: the scenarios of SPEC-001",
        "docs(plan): what the tests of SPEC-001 assert",
    ]
    assert cli.repo.git("status", "--porcelain") == ""
    status = cli.tdd("status", "--json").json
    assert status["phase"] == "red"


def test_a_cycle_is_shown_as_text_and_as_other_orchestrators_read_it(cli: Cli) -> None:
    to_red(cli)
    text = cycle(cli, "status").out
    assert text.startswith("● cycle c1 on SPEC-001, branch main: stage red\n  plan: cli/person/ada\n")
    state = cycle(cli, "status", "--json").json
    assert (state["phase"], state["spec_id"], state["spec_hash"]) == ("tdd-red", "SPEC-001", "")
    assert state["plan_artifact"] == PLAN_PATH
    assert state["cycle"]["workers"] == {"plan": ["cli/person/ada"]}
    assert f"tdd spec show {SPEC_PATH}" in state["next"]


def test_a_refusal_has_code_3_and_several_lines_are_lines(cli: Cli) -> None:
    cycle(cli, "start", SPEC_PATH)
    done = cycle(cli, "advance", code=3)
    assert f"\n## {SMALLER}\n- assert: what a test observes\n" in done.err
    assert cli.tdd("cycle", "validate", "--finding", "x:1 — y").code == 2
    assert cli.tdd("cycle", "advance", "--json").json["denied"]["rule"] == "cycle-plan"


def test_a_person_ends_a_cycle_and_an_agent_does_not(cli: Cli) -> None:
    cycle(cli, "start", SPEC_PATH)
    agent = {"TDD_ACTOR": "agent", "TDD_ROOT": str(cli.root)}
    assert cli.tdd("cycle", "abort", "--why", "x", env=agent).code == 3
    assert "aborted in stage plan" in cycle(cli, "abort", "--why", "the spec is wrong").out
    assert cycle(cli, "status").out == "no cycle is open here\nnext: `tdd cycle start SPEC`\n"


def test_switching_off_says_that_the_cycle_ends(cli: Cli) -> None:
    cycle(cli, "start", SPEC_PATH)
    assert "the cycle c1 on SPEC-001 ended, too" in cli.tdd("off", "--why", "a spike").out


def test_the_stack_is_derived_and_never_a_source(cli: Cli) -> None:
    found = cycle(cli, "stack", "--json").json
    assert (found["language"], found["test_command"]) == ("python", "pytest")
    assert found["test_file_glob"] == "tests/*.py"
    path = cli.root / ".tdd/cycle/stack.json"
    path.write_text(path.read_text().replace("tests/*.py", "nothing/*.py"))
    said = cycle(cli, "stack", "--json")
    assert "edited by hand" in said.err
    assert said.json["test_file_glob"] == "tests/*.py"
    assert "nothing" not in path.read_text()
    assert cli.repo.git("status", "--porcelain") == ""
