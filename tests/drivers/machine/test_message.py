from __future__ import annotations

import subprocess

from verdigris.agents.roles.role import Role
from verdigris.core.report import Status
from verdigris.core.state import Red
from verdigris.drivers.machine.message import Proposal, Verified, goal_of, message, told_red

KATA = "# String Calculator\n\nA function `add` sums the numbers in a string. It grows.\n\n- empty is 0\n"
PROPOSAL = Proposal(
    "test",
    "an empty string\nis zero",
    "The simplest case first.\n\n- nothing to parse yet\n- pins the signature",
    {"tests/test_add.py": "the first case"},
)
VERIFIED = Verified(
    "red",
    ("1 test is red for the right reason, none besides",),
    ("tests/test_add.py::test_empty", "tests/test_add.py::test_odd[a: b]"),
    {"tests/test_add.py::test_empty": "AssertionError at tests/test_add.py:5"},
    "sha256:00",
)


def made() -> str:
    return message(Role.TESTER, 1, goal_of(KATA), PROPOSAL, ("src/add.py", "tests/test_add.py"), VERIFIED)


def test_the_sections_in_their_order() -> None:
    text = made()
    assert text.startswith(
        "test: an empty string is zero\n\nContext:\n- Role: Tester\n- Step: 1\n- Kata goal: A "
    )
    order = [text.index(f"\n{name}:\n") for name in ("Context", "Rationale", "Diff summary", "Verification")]
    assert order == sorted(order)
    assert "- nothing to parse yet\n- pins the signature\n" in text
    assert "- src/add.py\n- tests/test_add.py: the first case\n" in text


def test_git_reads_the_trailers() -> None:
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=made(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "TDD-Role: tester",
        "TDD-Step: 1",
        "TDD-Test: tests/test_add.py::test_empty",
        "TDD-Test: tests/test_add.py::test_odd[a: b]",
        "TDD-Red: AssertionError at tests/test_add.py:5 (tests/test_add.py::test_empty)",
        "TDD-Verdict: red",
        "TDD-Oracle: sha256:00",
    ]


def test_lines_fit_and_the_subject_is_cut() -> None:
    long = Proposal("feat", "x" * 100, "word " * 60)
    text = message(Role.IMPLEMENTOR, 2, "g", long, (), VERIFIED)
    assert len(text.splitlines()[0]) == 72
    assert all(len(line) <= 76 for line in text.split("\nTDD-Role")[0].splitlines())


def test_a_goal_is_the_first_sentence_of_the_kata() -> None:
    assert goal_of(KATA) == "A function `add` sums the numbers in a string."
    assert goal_of("# Bowling\n") == "Bowling"
    assert goal_of("") == "as described"


def test_a_red_is_told_without_what_differs_from_run_to_run() -> None:
    red = Red(
        "t::x",
        "t::x",
        "native",
        1,
        "tree",
        "pytest",
        Status.FAIL,
        "valid",
        "AssertionError: <0x7f>",
        "t.py:3",
    )
    assert told_red(red) == ("t::x", "AssertionError at t.py:3")
