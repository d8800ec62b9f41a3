"""Helpers and tables that stand in source and are used by tests as assertion or expectation."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.turns import CONFIG, World, make_world
from verdigris.core.events import OracleFrozen
from verdigris.core.verdict import Kind
from verdigris.turns.claim_check import Claimed
from verdigris.turns.refactor import begin, end
from verdigris.turns.settle import settle

CHECKS = "def assert_paid(bill):\n    assert bill['paid'] == 5\n"
TEST = (
    "from bill import make\nfrom checks import assert_paid\n\n\ndef test_paid():\n    assert_paid(make())\n"
)
PAID = "tests/test_paid.py::test_paid"
HONEST = "def make():\n    return {'paid': 5}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(
        tmp_path / "repo", **{"checks.py": CHECKS, "bill.py": "def make():\n    return {'paid': 0}\n"}
    )
    made.write("tests/test_paid.py", TEST)
    return made


def test_a_claim_names_them_and_records_them(world: World) -> None:
    world.test(PAID)
    done = world.claim(PAID, "bill.py")
    assert isinstance(done, Claimed)
    (told,) = done.concerns
    assert told.startswith(f"checks.py:1: assert_paid is source, and {PAID} asserts with it")
    (frozen,) = world.events(OracleFrozen)
    assert isinstance(frozen, OracleFrozen)
    assert frozen.findings == (told,)


def test_an_honest_turn_beside_them_is_accepted_without_a_word(world: World) -> None:
    world.claimed(PAID, "bill.py")
    world.write("bill.py", HONEST)
    done = world.settle()
    assert (done.verdict.kind, done.verdict.concerns) == (Kind.ACCEPTED, ())


def test_one_that_is_weaker_after_the_turn_is_weakened(world: World) -> None:
    world.claimed(PAID, "bill.py", "checks.py")
    world.write("checks.py", "def assert_paid(bill):\n    assert 'paid' in bill\n")
    done = world.settle()
    assert done.verdict.kind is Kind.WEAKENED
    assert done.verdict.reasons[0].startswith("checks.py:2: weaker")


def test_one_that_asks_for_more_is_accepted_and_told(world: World) -> None:
    world.claimed(PAID, "bill.py", "checks.py")
    world.write("bill.py", HONEST)
    world.write("checks.py", CHECKS + "    assert len(bill) == 1\n")
    done = world.settle()
    assert done.verdict.accepted
    assert [told.partition(" is source")[0] for told in done.verdict.concerns] == ["checks.py:1: assert_paid"]


def test_a_refactoring_may_not_weaken_them_either(world: World) -> None:
    world.claimed(PAID, "bill.py")
    world.write("bill.py", HONEST)
    assert world.settle().verdict.accepted
    begin(world.project, uncovered=False)
    world.write("checks.py", "def assert_paid(bill):\n    assert bill\n")
    assert end(world.project).verdict.kind is Kind.WEAKENED  # type: ignore[union-attr]


def test_one_that_a_person_froze_is_part_of_the_oracle(world: World) -> None:
    world.write("tdd.yaml", world.read("tdd.yaml") + "oracle: {include: [checks.py]}\n")
    world.test(PAID)
    done = world.claim(PAID, "bill.py")
    assert isinstance(done, Claimed)
    assert done.concerns == ()
    world.write("checks.py", "def assert_paid(bill):\n    assert bill\n")
    assert settle(world.project).verdict.kind is Kind.TAMPERED  # type: ignore[union-attr]


def test_assertions_in_source_that_no_longer_run_prove_nothing(tmp_path: Path) -> None:
    body = "def assert_paid(bill):\n    if applies(bill):\n        assert bill['paid'] == 5\n"
    checks = f"from bill import applies\n\n\n{body}"
    bill = "def make():\n    return {'paid': 0}\n\n\ndef applies(bill):\n    return True\n"
    files = {"checks.py": checks, "bill.py": bill, "tdd.yaml": CONFIG}
    world = make_world(tmp_path / "repo", **files)
    world.write("tests/test_paid.py", TEST)
    world.claimed(PAID, "bill.py")
    world.write("bill.py", bill.replace("True", "False"))
    done = world.settle()
    assert done.verdict.kind is Kind.HOLLOW
    assert any("no assertion in it ran" in reason for reason in done.verdict.reasons)
