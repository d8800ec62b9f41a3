"""Whether code that knows nothing would pass a red, asked at the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, SUB_ID, World, make_live_world
from verdigris.checks import weak_reds
from verdigris.core.debts import list_debts
from verdigris.core.events import EditClaim
from verdigris.core.verdict import Kind
from verdigris.turns.claim_check import Claimed
from verdigris.turns.completion import list_owed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_reds, "SECONDS", 60.0)
    monkeypatch.setattr(weak_reds, "_EACH", 20.0)


def claim(world: World, *body: str) -> Claimed:
    text = "".join(f"    {line}\n" for line in body)
    world.write("tests/test_sub.py", f"import calc\n\n\ndef test_sub():\n{text}")
    world.test(SUB_ID)
    claimed = world.claim(SUB_ID)
    assert isinstance(claimed, Claimed), claimed
    return claimed


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_live_world(
        tmp_path / "repo", **{"calc.py": CALC + "\n\ndef sub(a, b):\n    raise NotImplementedError\n"}
    )


def test_a_red_that_pins_the_answer_is_not_weak(world: World) -> None:
    assert claim(world, "assert calc.sub(9, 3) == 6").weak == ()


def test_a_claim_names_the_bodies_with_which_its_red_passes(world: World) -> None:
    assert claim(world, "assert calc.sub(5, 5) == 0").weak == (
        (
            "weak: `return 0` or `return False` instead of the body of `sub` in calc.py:5 passes "
            f"{SUB_ID}: assert what comes out"
        ),
    )


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        (("calc.sub(9, 3)",), "`return None`, `return 0`"),
        (("assert calc.sub(9, 3) == calc.sub(9, 3)",), "`return None`, `return 0`"),
        (("got = calc.sub(9, 3)", "assert got == 6 or got"), "`return True`, `return 1`"),
        (("assert abs(calc.sub(9, 3) - 6) < 1000",), "`return 0`, `return True`"),
        (("assert len(calc.sub(9, 3)) == 3",), "`return [None] * 3`"),
        (("assert calc.sub(9, 3) == 9",), "`return a`"),
        (("assert calc.sub(9, 3).sign.name",), "`return MagicMock()`"),
    ],
    ids=["no assertion", "itself", "or", "tolerance", "length", "argument", "attributes"],
)
def test_a_red_that_asserts_next_to_nothing_is_weak(world: World, body: tuple[str, ...], passes: str) -> None:
    assert claim(world, *body).weak[0].startswith(f"weak: {passes}")


def test_a_function_that_source_does_not_have_yet_is_asked_about_over_a_stub(tmp_path: Path) -> None:
    world = make_live_world(tmp_path / "repo")
    assert "`return 0`" in claim(world, "assert calc.sub(5, 5) == 0").weak[0]


def test_the_claim_records_what_is_weak_and_the_settlement_owes_it(world: World) -> None:
    claim(world, "assert calc.sub(5, 5) == 0")
    recorded = [event for event in world.events(EditClaim) if isinstance(event, EditClaim)]
    assert {debt.change for event in recorded for debt in event.weak} == {
        "`return 0` instead of the body of `sub`",
        "`return False` instead of the body of `sub`",
    }
    world.write("calc.py", CALC + SUB)
    assert world.settle().verdict.kind is Kind.ACCEPTED
    assert any("`return 0` or `return False`" in text for text in list_debts(world.state.owed.values()))


def test_a_second_test_that_rules_the_body_out_pays_it(world: World) -> None:
    claim(world, "assert calc.sub(5, 5) == 0")
    world.write("calc.py", CALC + SUB)
    world.settle()
    world.write("tests/test_more.py", "import calc\n\n\ndef test_more():\n    assert calc.sub(9, 3) == 6\n")
    assert world.test("tests/test_more.py").paid
    assert list_owed(world.project) == ()


def test_what_was_not_tried_in_the_time_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weak_reds, "SECONDS", 0.0)
    claimed = claim(world, "assert calc.sub(5, 5) == 0")
    assert (claimed.weak, claimed.untried) == ((), 10)
