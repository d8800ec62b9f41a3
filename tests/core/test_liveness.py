from __future__ import annotations

from typing import Any

import pytest

from support.alive import PATH, function, tried
from verdigris.core.liveness import (
    ENTERED,
    Plan,
    Probe,
    Unreached,
    Variant,
    judge_liveness,
    on_their_own,
    plan,
)
from verdigris.core.report import Place, RunPhase, Status, TestResult, VariantOutcome


def test_a_test_that_is_never_entered_is_hollow_in_its_branches_too() -> None:
    made = plan({PATH: function("for n in range(3):\n    assert twice(n) == n + n")}, [f"{PATH}::test_it"])
    passed = {f"{PATH}::test_it": "passed"}
    assert judge_liveness(made, [VariantOutcome(0, passed)]).hollow != ()  # type: ignore[arg-type]
    entered = VariantOutcome(0, passed, stood={f"{PATH}::test_it": frozenset({ENTERED})})  # type: ignore[arg-type]
    assert judge_liveness(made, [entered]).hollow == ()


def test_as_many_variants_as_one_test_has_assertions() -> None:
    text = "".join(f"def test_{n}():\n    assert {n} == {n}\n    assert not {n}\n" for n in range(9))
    other = "class TestB:\n    def test_b(self): assert 1 == 1"
    ids = [f"{PATH}::test_{n}" for n in range(9)] + ["tests/test_b.py::TestB::test_b[1]"]
    made = plan({PATH: text, "tests/test_b.py": other}, ids)
    assert [len(variant.probes) for variant in made.variants] == [10, 9]
    assert made.variants[0].select == (*ids[:9], "tests/test_b.py::TestB::test_b")
    assert set(made.variants[0].texts) == {PATH, "tests/test_b.py"}
    assert made.variants[0].texts[PATH].count("→") == 0
    assert (
        made.variants[1].texts[PATH].startswith("def test_0():\n    assert 0 == 0\n    assert (not (not 0))")
    )


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("def test_it(: pass", "test_it", "its file cannot be read as Python"),
        ("def test_it(): pass", "test_no", "its function is not to be found"),
        ("def test_it(): pass", "test_it", "no assertion that can be changed was found in it"),
        (
            "def test_it():\n    if 1 > 2: pytest.fail('x')",
            "test_it",
            "no assertion that can be changed was found in it",
        ),
    ],
)
def test_what_cannot_be_changed_is_listed(text: str, name: str, why: str) -> None:
    test_id = f"{PATH}::{name}"
    assert plan({PATH: text}, [f"{test_id}[1]"]) == Plan((), (Unreached(test_id, 0, why),))
    assert tried(text, name).unreached == (f"{test_id}: {why}",)


def outcome(**fields: Any) -> VariantOutcome:
    return VariantOutcome(0, **fields)


def failed(test_id: str, line: int, more: dict[str, Any] | None = None) -> VariantOutcome:
    return outcome(outcomes={**(more or {}), test_id: "failed"}, places={test_id: (Place("t.py", line),)})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "it was not tried"),
        ([outcome(why="no time was left")], "no time was left"),
        ([outcome()], "the test did not run"),
        ([outcome(outcomes={"t.py::test_x": "skipped"})], "the test did not come to its call"),
        ([outcome(outcomes={"t.py::test_x": "failed"})], "the test failed elsewhere"),
        ([failed("t.py::test_x", 6)], "the test failed elsewhere"),
        ([failed("t.py::test_x", 8)], None),
        ([outcome(outcomes={"t.py::test_xy": "failed"})], "the test did not run"),
        ([failed("t.py::test_x[2]", 7, {"t.py::test_x[1]": "skipped"})], None),
    ],
)
def test_only_a_failure_shows_life(given: list[VariantOutcome], why: str | None) -> None:
    made = Plan((Variant({"t.py": ""}, (Probe("t.py", 7, "4 → 5", ("t.py::test_x",), (7, 8)),)),))
    live = judge_liveness(made, given)
    assert (live.hollow, live.unreached) == ((), (f"t.py:7: 4 → 5: {why}",) if why else ())


def test_one_case_that_passes_is_hollow() -> None:
    made = Plan((Variant({"t.py": ""}, (Probe("t.py", 7, "4 → 5", ("t.py::test_x",), (7, 8)),)),))
    given = [outcome(outcomes={"t.py::test_x[1]": "failed", "t.py::test_x[2]": "passed"})]
    assert judge_liveness(made, given).hollow == ("t.py:7: 4 → 5: t.py::test_x[2] passes all the same",)


@pytest.mark.parametrize("why", ["the run ended early", "the tests themselves did not run to their end"])
def test_a_test_that_always_gets_away_is_a_doubt(why: str) -> None:
    made = plan({PATH: function("assert twice(2) == 4\nassert twice(3) == 6")}, [f"{PATH}::test_it"])
    away = [VariantOutcome(index, why=why) for index in (0, 1)]
    (doubt,) = judge_liveness(made, away).doubts
    assert f"{PATH}::test_it" in doubt
    assert judge_liveness(made, []).doubts != ()
    late = [away[0], VariantOutcome(1, why="no time was left")]
    assert judge_liveness(made, late).doubts == ()


def test_what_passes_only_after_others_is_told() -> None:
    def result(name: str, status: Status) -> TestResult:
        return TestResult(name, name, "native", status, RunPhase.CALL, 1)

    results = [result("t.py::a", Status.PASS), result("t.py::b", Status.FAIL)]
    assert [text.split()[0] for text in on_their_own(["t.py::a", "t.py::b", "t.py::c"], results)] == [
        "t.py::b",
        "t.py::c",
    ]
