from __future__ import annotations

import pytest

from verdigris.core.policy.actors import claimers, claims_of, deny_source, view_of
from verdigris.core.report import Status
from verdigris.core.state import Claim, Phase, Red, Turn, WorktreeState

BOTH = frozenset({"a", "b"})


def red(name: str, by: str) -> Red:
    return Red(name, name, "native", 1, "tree", "pytest", Status.FAIL, "valid", by=by)


def claim(name: str, by: str, *targets: str) -> Claim:
    return Claim(name, name, 1, targets or (f"{name}.py",), by=by)


def green(*claims: Claim) -> WorktreeState:
    return WorktreeState(Phase.GREEN, turn=Turn("t1", "tree"), claims={c.test_id: c for c in claims})


@pytest.mark.parametrize(
    ("context", "at_work", "seen"),
    [
        ("a", BOTH, {"mine", "persons"}),
        ("a", frozenset({"a"}), {"mine", "theirs", "persons"}),
        ("", BOTH, {"mine", "theirs", "persons"}),
    ],
)
def test_the_reds_of_others_at_work_are_not_seen(
    context: str, at_work: frozenset[str], seen: set[str]
) -> None:
    reds = {"mine": red("mine", "a"), "theirs": red("theirs", "b"), "persons": red("persons", "")}
    assert view_of(WorktreeState(reds=reds), context, at_work).reds.keys() == seen


def test_whose_claims_alone_are_open() -> None:
    assert claimers(green(claim("x", "a"), claim("y", "b"))) == BOTH
    assert claimers(green(claim("x", "a"), claim("y", ""))) == frozenset(), "a person's are everybody's"
    assert claimers(WorktreeState()) == frozenset()


def test_claims_of_an_agent_that_has_gone_are_everybodys() -> None:
    claims = (claim("x", "a"), claim("y", "b"), claim("z", ""))
    assert [c.test_id for c in claims_of(claims, ("a",), BOTH)] == ["x", "z"]
    assert [c.test_id for c in claims_of(claims, ("a",), {"a"})] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("path", "by", "at_work", "following"),
    [
        ("x.py", "a", BOTH, None),
        ("new.py", "a", BOTH, None),
        ("y.py", "a", BOTH, "`tdd claim x y.py`"),
        ("y.py", "a", frozenset({"a"}), None),
        ("y.py", "c", BOTH, "wait until that agent has settled, then `tdd test` your own test and edit"),
        ("new.py", "c", BOTH, "wait until that agent has settled, then `tdd test` your own test and edit"),
        ("y.py", "", BOTH, None),
    ],
)
def test_source_is_judged_by_its_authors_claims(
    path: str, by: str, at_work: frozenset[str], following: str | None
) -> None:
    denial = deny_source(green(claim("x", "a"), claim("y", "b")), path, (by,), at_work)
    assert (denial.next if denial else None) == following


def test_one_of_several_authors_with_a_claim_is_enough() -> None:
    state = green(claim("x", "a"), claim("y", "b"))
    assert deny_source(state, "x.py", BOTH, BOTH) is None
    assert deny_source(state, "x.py", {"b", "c"}, BOTH) is not None
