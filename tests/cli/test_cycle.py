"""A cycle by hand, from a spec to evidence, and everything that is refused on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.cli import PASSING, SOURCE

if TYPE_CHECKING:
    from support.cli import Cli, Ran

SPEC = """\
---
id: SPEC-001
status: active
---
# Subtraction

### Requirement: Subtract
#### Scenario: A smaller number is taken away
- **WHEN** 2 is taken from 3
- **THEN** the result is 1

#### Scenario: A larger number is taken away
- **WHEN** 3 is taken from 2
- **THEN** the result is -1
"""
SMALLER, LARGER = (
    "SPEC-001#subtract/a-smaller-number-is-taken-away",
    "SPEC-001#subtract/a-larger-number-is-taken-away",
)
PLAN = f"""\
## {SMALLER}
- assert: the difference of three and two is one
- edge: zero taken away leaves the number

## {LARGER}
- assert: the difference of two and three is minus one
- edge: both numbers are equal
"""
STUB = SOURCE + "\n\ndef sub(a, b):\n    return 0  # STUB:TDD\n"
TESTS = f"""\
import calc


# @scenario: {SMALLER}
def test_smaller():
    assert calc.sub(3, 2) == 1


# @scenario: {LARGER}
def test_larger():
    assert calc.sub(2, 3) == -1
"""
CODE = SOURCE + "\n\ndef sub(a, b):\n    return a - b\n"
SPEC_PATH, PLAN_PATH, TEST_PATH = "specs/subtract.md", ".tdd/plans/spec-001.md", "tests/test_sub.py"


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """Set up, with a suite that passes and an active spec, all of it committed."""
    cli.repo.write("calc.py", SOURCE)
    cli.repo.write("tests/test_calc.py", PASSING)
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
