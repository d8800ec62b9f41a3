from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import ANY

import pytest

from support.alive import HONEST, LIVENESS, PATH, function, plan, tried
from verdigris.checks.liveness.judgement import LivenessFindings, find_unnoticed, judge_runs
from verdigris.core.report import Place, VariantOutcome
from verdigris.core.test_ids import function_of
from verdigris.languages.probes import Probe, ProbeChange, RunSet, Try, Variant

pytestmark = pytest.mark.quick

TEST = "t.py::test_x"


def tries_of(made: RunSet) -> list[int]:
    """How many assertions each changed text changes."""
    return sorted(len(member.tries) for member in made.members if member.tries)


def test_as_many_variants_as_one_test_has_assertions() -> None:
    text = "".join(f"def test_{n}():\n    assert {n} == {n}\n    assert not {n}\n" for n in range(9))
    other = "class TestB:\n    def test_b(self): assert 1 == 1"
    ids = [f"{PATH}::test_{n}" for n in range(9)] + ["tests/test_b.py::TestB::test_b[1]"]
    made = plan({PATH: text, "tests/test_b.py": other}, ids, Random(1), few=2)
    assert tries_of(made) == [10, 10]
    assert all(set(member.texts) == {PATH, "tests/test_b.py"} for member in made.members)
    assert made.members[made.truth].texts == {PATH: text.encode(), "tests/test_b.py": other.encode()}
    assert made.totals[f"{PATH}::test_3"] == 2


@pytest.mark.parametrize(("few", "runs"), [(3, 2), (1, 1)])
def test_an_assertion_is_drawn_more_than_once_while_that_is_cheap(few: int, runs: int) -> None:
    made = plan({PATH: function("assert twice(2) == 4")}, [f"{PATH}::test_it"], Random(1), few=few)
    assert tries_of(made) == [1] * runs


def test_there_are_no_more_runs_than_the_time_allows() -> None:
    text = function("\n".join(f"assert twice({n}) == {2 * n}" for n in range(9)))
    made = plan({PATH: text}, [f"{PATH}::test_it"], Random(1), most=4)
    assert (tries_of(made), made.totals) == ([1] * 4, {f"{PATH}::test_it": 9})


def test_what_says_something_only_together_is_tried_together_or_not_at_all() -> None:
    text = function("assert twice(2) == twice(2)")
    for seed in range(9):
        assert tries_of(plan({PATH: text}, [f"{PATH}::test_it"], Random(seed), most=1)) == []
        assert tries_of(plan({PATH: text}, [f"{PATH}::test_it"], Random(seed), most=2)) == [1, 1]


def test_the_order_of_the_runs_is_random_and_none_is_marked() -> None:
    found = [
        plan({PATH: function("assert twice(2) == 4")}, [f"{PATH}::test_it"], Random(seed))
        for seed in range(40)
    ]
    assert {made.truth for made in found} == {0, 1, 2}
    assert all(len({tuple(member.texts) for member in made.members}) == 1 for made in found)


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("def test_it(: pass", "test_it", "its file cannot be read as Python"),
        ("def test_it(): pass", "test_no", "its function was not found"),
        ("def test_it(): pass", "test_it", "no assertion that can be changed was found in it"),
        (
            "def test_it():\n    if 1 > 2: pytest.fail('x')",
            "test_it",
            "no assertion that can be changed was found in it",
        ),
    ],
)
def test_what_cannot_be_changed_is_listed(text: str, name: str, why: str) -> None:
    assert plan({PATH: text}, [f"{PATH}::{name}[1]"], Random(1)).totals == {}
    assert LIVENESS.why_unread({PATH: text.encode()}, f"{PATH}::{name}") == why


def runs(*tries: Try) -> RunSet:
    members = tuple(Variant((one,), {"t.py": b""}) for one in tries)
    return RunSet((Variant((), {"t.py": b""}), *members), 0, {TEST: len(tries)})


def probe(**fields: Any) -> Try:
    change = ProbeChange((), "4 → 5")
    return Try(Probe("t.py", 7, "", (change,), **{"names": frozenset({TEST}), **fields}), change, (7, 8))


def outcome(index: int = 1, **fields: Any) -> VariantOutcome:
    return VariantOutcome(index, **fields)


def failed(test_id: str, line: int, more: dict[str, Any] | None = None) -> VariantOutcome:
    return outcome(outcomes={**(more or {}), test_id: "failed"}, places={test_id: (Place("t.py", line),)})


def passed(index: int, *cases: str) -> VariantOutcome:
    return VariantOutcome(index, {f"{TEST}{case}": "passed" for case in cases or ("",)})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([], "it was not tried"),
        ([outcome(why="no time was left")], "no time was left"),
        ([outcome()], "the test did not run"),
        ([outcome(outcomes={TEST: "skipped"})], "the test was skipped or ended in its setup"),
        ([outcome(outcomes={TEST: "failed"})], "the test failed elsewhere"),
        ([failed(TEST, 6)], "the test failed elsewhere"),
        ([failed(TEST, 8)], None),
        ([outcome(outcomes={f"{TEST}y": "failed"})], "the test did not run"),
        ([failed(f"{TEST}[2]", 7, {f"{TEST}[1]": "skipped"})], None),
    ],
)
def test_only_a_failure_shows_life(given: list[VariantOutcome], why: str | None) -> None:
    live = judge_runs(runs(probe()), [passed(0), *given], [TEST])
    told = {TEST: (f"t.py:7: 4 → 5: {why}",)} if why else {}
    assert (live.hollow, live.unreached, live.unlike) == ({}, told, ())
    assert set(map(function_of, live.seen)) == ({TEST} if why is None else set())


def test_one_case_that_passes_is_hollow() -> None:
    given = outcome(outcomes={f"{TEST}[1]": "failed", f"{TEST}[3]": "passed"})
    live = judge_runs(runs(probe()), [passed(0, "[1]", "[2]"), given], [f"{TEST}[1]"])
    assert live.hollow == {TEST: (f"t.py:7: 4 → 5: {TEST}[2] still passes",)}


def test_a_case_that_fails_with_the_true_text_says_nothing() -> None:
    """Its value may be what was drawn."""
    right = VariantOutcome(0, {f"{TEST}[1]": "passed", f"{TEST}[2]": "failed"})
    given = outcome(outcomes={f"{TEST}[1]": "failed", f"{TEST}[3]": "passed"})
    assert judge_runs(runs(probe()), [right, given], [f"{TEST}[1]"]).hollow == {}


def test_a_test_must_pass_with_the_true_text_in_its_set() -> None:
    live = judge_runs(runs(probe()), [VariantOutcome(0, {TEST: "failed"}), passed(1)], [TEST])
    assert (live.unlike, live.hollow) == ((TEST,), {})
    assert judge_runs(runs(probe()), [], [TEST]).unlike == (TEST,)
    cases = judge_runs(runs(), [passed(0, "[1]", "[2]")], [TEST, f"{TEST}[1]", f"{TEST}[3]"])
    assert cases.unlike == (f"{TEST}[3]",)


def test_of_two_values_an_honest_one_may_be_either() -> None:
    one_probe = probe(joint=True)
    pair = one_probe, one_probe
    one = judge_runs(runs(*pair), [passed(0), passed(1), failed(TEST, 7)], [TEST])
    assert one.hollow == {}
    both = judge_runs(runs(*pair), [passed(0), passed(1), passed(2)], [TEST])
    assert both.hollow == {TEST: (f"t.py:7: 4 → 5: {TEST} still passes",)}


@pytest.mark.parametrize("why", ["the run ended early", "no time was left"])
def test_a_test_that_always_gets_away_is_named(why: str) -> None:
    two = runs(probe(), probe())
    away = [VariantOutcome(index, why=why) for index in (1, 2)]
    assert judge_runs(two, [passed(0), *away], [TEST]).away == {TEST: why}
    seen = judge_runs(two, [passed(0), away[0], VariantOutcome(2, {TEST: "failed"})], [TEST])
    assert (seen.away, seen.tried) == ({}, {TEST: 1})


NEVER = """
def test_it():
    def heard(value):
        assert value == 42
    listen(heard)
"""


@pytest.mark.parametrize(
    "text",
    [
        NEVER,
        "def test_it():\n    for n in listen([1]) or []:\n        assert n == 1\n",
        "def test_it():\n    try:\n        assert listen(1) == 4\n    except AssertionError:\n        pass\n",
    ],
    ids=["a callback never called", "a loop without rounds", "a failure nobody hears"],
)
def test_assertions_that_never_ran_are_not_seen(text: str) -> None:
    live = tried(text, "test_it", listen=lambda _: None)
    assert (live.hollow, live.seen) == ((), frozenset())
    assert live.judged.suspects


def test_a_callback_that_is_called_is_seen() -> None:
    live = tried(NEVER, "test_it", listen=lambda call: call(42))
    assert (live.hollow, live.unreached, set(live.seen)) == ((), (), {f"{PATH}::test_it"})
    assert tried(function("for n in [1]: assert twice(n) == 2"), "test_it", **HONEST).seen


SHARED = """
def check(found, expected):
    if not found:
        return
    assert found[0] == expected

def test_none():
    check(twice([]), 1)

def test_some():
    check(twice([1]), 1)
"""


def test_of_an_assertion_that_two_tests_share_one_may_end_before_it() -> None:
    """That one passes rightly; the other is seen to fail, and is not blamed for it."""
    live = tried(SHARED, "test_none", "test_some", twice=lambda found: found)
    assert live.hollow == ()
    assert f"{PATH}::test_some" in live.seen


CASES = """
@pytest.mark.parametrize("loud", [True, False])
def test_it(loud):
    if loud:
        assert twice(2) == 4
    else:
        assert twice("a") == "aa"
"""


def test_of_two_cases_each_may_end_before_the_assertions_of_the_other() -> None:
    live = tried(CASES, "test_it", **HONEST)
    assert (live.hollow, set(live.seen)) == ((), {f"{PATH}::test_it"})
    assert {one.cases for one in live.judged.suspects} == {
        (f"{PATH}::test_it[1]",),
        (f"{PATH}::test_it[0]",),
    }


def test_a_case_that_passes_what_it_reaches_is_hollow_whatever_the_other_one_does() -> None:
    live = tried(CASES, "test_it", twice=lambda value: 4 if value == 2 else ANY)
    assert {text.rpartition(": ")[2] for text in live.hollow} == {f"{PATH}::test_it[1] still passes"}


def test_a_case_is_known_by_its_place_where_a_changed_row_gives_it_another_id() -> None:
    """A row's value stands in the id of its case: `[a-1]` is `[a-9]` with another expectation."""
    asked = runs(probe(names=frozenset(), maybe=frozenset({TEST})))
    live = judge_runs(asked, [passed(0, "[a-1]", "[b-2]"), passed(1, "[a-9]", "[b-8]")], [TEST])
    assert [each.cases for each in live.suspects] == [(f"{TEST}[a-1]", f"{TEST}[b-2]")]
    assert list(find_unnoticed(live.suspects, frozenset({("t.py", 7, f"{TEST}[b-2]")}))) == [TEST]


def test_cases_that_reach_an_assertion_are_told_from_those_that_do_not() -> None:
    live = judge_runs(runs(probe()), [passed(0, "[1]", "[2]"), failed(f"{TEST}[1]", 7)], [TEST])
    assert live.seen == {f"{TEST}[1]"}


def test_nothing_made_is_nothing_judged() -> None:
    assert judge_runs(RunSet((), 0), [], []) == LivenessFindings()
