"""What an evaluation printed, and whether its number may be kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from verdigris.core.value import take_fields
from verdigris.drivers.loop.events import Measured
from verdigris.drivers.loop.measurement import (
    EvaluationFailed,
    Measurement,
    combine_samples,
    judge_metric,
    must_measure_again,
    read_measurement,
)
from verdigris.drivers.loop.program import EvaluationRules, Margin, Program, read_program


def program(direction: str = "higher", margin: Margin = Margin(), target: float | None = None) -> Program:  # noqa: B008 - a value
    read = read_program("p", f"---\nmetric_direction: {direction}\n---\n## Goal\nGo.\n")
    return replace(read, target_metric=target, evaluation_rules=EvaluationRules(margin=margin))


def measured(found: Measurement | float, *, base: str = "", oracle: str = "") -> Measured:
    """What the log keeps of a measurement."""
    kept = found if isinstance(found, Measurement) else Measurement(found)
    noise = kept.noise
    return take_fields(
        Measured, kept, program="p", iteration=1, tree="", noise=noise, base=base, oracle=oracle
    )


@pytest.mark.parametrize(
    ("output", "metric", "passing", "failing"),
    [
        ('{"metric": 3, "passing": 3, "failing": 0}', 3, 3, 0),
        ('noise\n{"not": "it"}\n{"metric": 2.5}\n', 2.5, None, None),
        ('{"fitness": -1e3}\nResourceWarning: unclosed file\n', -1000, None, None),
        ('{"ported": 12, "other": 99}', 12, None, None),
        ("METRIC other=1\nMETRIC ported=2\n", 2, None, None),
        ("METRIC seconds=1.5\nMETRIC memory=9\n", 1.5, None, None),
        ('METRIC seconds=1\n{"metric": 1}\n', 1, None, None),
        ('{"metric": 1}\n{"metric": 1}\n', 1, None, None),
    ],
)
def test_a_measurement_is_read(output: str, metric: float, passing: int | None, failing: int | None) -> None:
    found = read_measurement(output, 0, "ported")
    assert isinstance(found, Measurement)
    assert (found.metric, found.passing, found.failing) == (metric, passing, failing)
    assert found.samples == (metric,)


@pytest.mark.parametrize(
    ("output", "kind", "words"),
    [
        ('{"fitness": null, "rejected_reason": "wrong order"}', "rejected", "rejects it: wrong order"),
        ('{"fitness": null}', "rejected", "does not say why"),
        ('{"metric": true}', "unreadable", "`metric` is true, which is no number"),
        ('{"metric": "12"}', "unreadable", "`metric` is the text '12'"),
        ('{"metric": NaN}', "unreadable", "only a finite number"),
        ('{"metric": -Infinity}', "unreadable", "only a finite number"),
        ('{"metric": 1' + "0" * 400 + "}", "unreadable", "only a finite number"),
        ('{"metric": [1]}', "unreadable", "`metric` is list and no number"),
        ('{"metric": 1, "failing": -1}', "unreadable", "`failing` is -1, and not a count of tests"),
        ('{"metric": 1, "passing": "all"}', "unreadable", "`passing` is 'all'"),
        ("METRIC seconds=fast\n", "unreadable", "`seconds` is the text 'fast'"),
        ("METRIC seconds=nan\n", "unreadable", "`seconds` is the text 'nan'"),
        ("done\n", "unreadable", "its last line is 'done'"),
        ("", "unreadable", "it printed nothing"),
        ('{"metric": 1}\n{"metric": 100}\n', "tampered", "two measurements"),
        ('{"metric": 1}\n{"fitness": 1}\n', "tampered", "two measurements"),
        ('METRIC seconds=9\n{"metric": 1}\n', "tampered", "two measurements"),
        ("METRIC seconds=1\nMETRIC seconds=0.1\n", "tampered", "two measurements"),
    ],
)
def test_what_is_no_measurement_says_so(output: str, kind: str, words: str) -> None:
    found = read_measurement(output, 0)
    assert isinstance(found, EvaluationFailed)
    assert found.kind == kind
    assert words in found.why
    assert found.output == output.strip()[-2000:]


def test_a_command_that_fails_gives_no_number() -> None:
    found = read_measurement('{"metric": 5}', 3)
    assert isinstance(found, EvaluationFailed)
    assert (found.kind, found.why) == ("failed", "the evaluation ended with exit code 3")
    killed = read_measurement("", None)
    assert isinstance(killed, EvaluationFailed)
    assert "a signal" in killed.why


def test_a_test_runner_that_fails_because_tests_fail_still_tells_how_many() -> None:
    found = read_measurement('{"metric": 5, "passing": 5, "failing": 2}', 1)
    assert isinstance(found, Measurement)
    assert not judge_metric(measured(found), None, program(), must_improve=False).accepted


def test_of_several_runs_the_median_counts_and_the_worst_of_the_tests() -> None:
    runs = [Measurement(m, "s", 9, failing) for m, failing in ((1.0, 0), (9.0, 2), (2.0, 0))]
    found = combine_samples(runs)
    assert (found.metric, found.failing, found.samples) == (2.0, 2, (1.0, 9.0, 2.0))


BEST = measured(100.0)


@pytest.mark.parametrize(
    ("metric", "direction", "must_improve", "accepted", "words"),
    [
        (101, "higher", True, True, "better: 101 against the best 100"),
        (100, "higher", True, False, "not better by more than the margin"),
        (99, "lower", True, True, "better"),
        (101, "lower", True, False, "worse: 101 against the best 100 (lower is better, margin 0)"),
        (100, "higher", False, True, "not worse"),
        (99, "higher", False, False, "worse"),
    ],
)
def test_a_ratchet_wants_better_and_a_test_driven_loop_not_worse(
    metric: float, direction: str, *, must_improve: bool, accepted: bool, words: str
) -> None:
    judged = judge_metric(measured(metric), BEST, program(direction), must_improve=must_improve)
    assert judged.accepted is accepted
    assert words in judged.why


def test_within_the_margin_nothing_is_better_or_worse() -> None:
    by_five = program(margin=Margin(0.05, relative=True))
    assert not judge_metric(measured(105), BEST, by_five, must_improve=True).accepted
    assert judge_metric(measured(106), BEST, by_five, must_improve=True).accepted
    assert judge_metric(measured(95), BEST, by_five, must_improve=False).accepted
    assert not judge_metric(measured(94), BEST, by_five, must_improve=False).accepted


def test_a_lucky_run_among_noisy_ones_is_no_improvement() -> None:
    noisy = Measurement(103, samples=(90, 103, 115))
    assert noisy.noise == 12
    judged = judge_metric(measured(noisy), BEST, program(), must_improve=True)
    assert not judged.accepted
    assert "margin 12" in judged.why


def test_a_number_of_another_name_is_compared_with_nothing() -> None:
    best = measured(Measurement(9, "seconds"))
    judged = judge_metric(measured(Measurement(99, "speed")), best, program(), must_improve=True)
    assert (judged.accepted, judged.why) == (False, "another number was measured: speed instead of seconds")


def test_the_first_measurement_counts_and_failing_tests_never_do() -> None:
    assert judge_metric(measured(1), None, program(), must_improve=True).accepted
    failing = judge_metric(measured(Measurement(900, failing=1)), BEST, program(), must_improve=True)
    assert not failing.accepted
    assert failing.why == "1 test fails: no metric makes up for that"


@pytest.mark.parametrize(
    ("metric", "direction", "met"), [(40, "higher", True), (39, "higher", False), (40, "lower", True)]
)
def test_a_target_that_is_met_completes_the_program(metric: float, direction: str, *, met: bool) -> None:
    judged = judge_metric(measured(metric), None, program(direction, target=40), must_improve=True)
    assert judged.completed is met


HELD = measured(Measurement(100.0, held_out=200.0))


@pytest.mark.parametrize(
    ("metric", "held_out", "accepted", "words"),
    [
        (10, 20, True, "better"),
        (10, 120, True, "better"),
        (10, 195, False, "gamed or overfitted: 90% better on the known inputs, and not so on held-out ones"),
        (10, 201, False, "gamed or overfitted: on held-out inputs it is worse than the best, 201 there"),
        (95, 200, True, "better"),
        (10, None, False, "no measurement on held-out inputs"),
    ],
)
def test_an_improvement_has_to_hold_on_held_back_inputs(
    metric: float, held_out: float | None, *, accepted: bool, words: str
) -> None:
    judged = judge_metric(
        measured(Measurement(metric, held_out=held_out)), HELD, program("lower"), must_improve=True
    )
    assert judged.accepted is accepted
    assert words in judged.why


def test_a_new_behaviour_need_not_show_on_held_back_inputs_but_must_not_harm_there() -> None:
    best = measured(Measurement(3, held_out=8))
    kept = judge_metric(measured(Measurement(4, held_out=8)), best, program(), must_improve=False)
    assert kept.accepted
    lost = judge_metric(measured(Measurement(4, held_out=7)), best, program(), must_improve=False)
    assert (lost.accepted, lost.why[:19]) == (False, "gamed or overfitted")


def test_a_best_is_measured_again_when_base_or_evaluator_changed() -> None:
    best = measured(3, base="base", oracle="oracle")
    assert must_measure_again(best, "base", "oracle") == ""
    assert "the base moved" in must_measure_again(best, "other", "oracle")
    assert "the evaluator" in must_measure_again(best, "base", "other")
