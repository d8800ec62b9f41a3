from __future__ import annotations

import subprocess

import pytest

from verdigris.core.report import Status
from verdigris.core.state import Red
from verdigris.drivers.commits import Proposal, Verified, message, style_subject, summarise_red
from verdigris.drivers.machine.history import CODER, TESTER

PROPOSAL = Proposal(
    "test",
    "an empty string\nis zero",
    "The simplest case first.\n\n- nothing to parse yet\n- pins the signature",
    {"tests/test_add.py": "the first case", "src/add.py": "a stub"},
    points=(1,),
)
VERIFIED = Verified(
    "red",
    "1 red, 3 passed",
    ("tests/test_add.py::test_empty", "tests/test_add.py::test_odd[a: b]"),
    {"tests/test_add.py::test_empty": "AssertionError at tests/test_add.py:5"},
    "sha256:00",
    ("src/add.py:3: expected-literals: 'zero' of the tests is returned here",),
)


def made() -> str:
    return message(TESTER, 1, PROPOSAL, VERIFIED)


def test_it_says_why_and_what_in_each_file_and_nothing_that_every_commit_says() -> None:
    head, _, rest = made().partition("\n\n")
    assert head == "test: an empty string is zero"
    assert rest.partition("\n\nTDD-")[0] == (
        "- The simplest case first.\n- nothing to parse yet\n- pins the signature\n\n"
        "- tests/test_add.py: the first case\n- src/add.py: a stub"
    )


def test_a_test_that_came_back_says_why_it_was_revised() -> None:
    because = "The implementor failed 2 times:\n1. still red\n2. still red"
    text = message(TESTER, 3, Proposal("test", "smaller", "One case.", because=because), VERIFIED)
    assert "\n\nOne case.\n\nRevised because The implementor failed 2 times: 1. still red" in text


@pytest.mark.parametrize(
    ("said", "subject"),
    [
        ("Take a percentage from the total.", "take a percentage from the total"),
        ("A number is its value", "a number is its value"),
        ("HTML is escaped", "HTML is escaped"),
        ("McNuggets are counted", "McNuggets are counted"),
        ("and so on ...", "and so on ..."),
    ],
)
def test_a_subject_has_neither_a_sentences_capital_nor_a_full_stop(said: str, subject: str) -> None:
    assert style_subject(said) == subject


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
        "TDD-Point: 1",
        "TDD-Verdict: red",
        "TDD-Suite: 1 red, 3 passed",
        "TDD-Concern: src/add.py:3: expected-literals: 'zero' of the tests is returned here",
        "TDD-Oracle: sha256:00",
    ]


def test_lines_fit_and_the_subject_is_cut() -> None:
    long = Proposal("feat", "x" * 100, "word " * 60)
    text = message(CODER, 2, long, VERIFIED)
    assert len(text.splitlines()[0]) == 72
    assert all(len(line) <= 76 for line in text.split("\nTDD-Role")[0].splitlines())


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
    assert summarise_red(red) == ("t::x", "AssertionError at t.py:3")
