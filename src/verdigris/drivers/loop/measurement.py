"""Reads the output of an evaluation, and judges whether its number is accepted."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import Literal

from verdigris.core.value import value
from verdigris.drivers.loop.events import Measured
from verdigris.drivers.loop.program import Direction, Program, as_number

Trouble = Literal["rejected", "failed", "timeout", "unreadable", "tampered", "infrastructure"]
"""The evaluator refuses the candidate; it failed; took too long; printed no number; was interfered with;
could not be run, which says nothing about the candidate."""

_METRIC_LINE = re.compile(r"\s*METRIC\s+([\w.-]+)\s*=\s*(\S+)\s*")
_KEYS = ("metric", "fitness")
_MUCH = 0.1
"""A gain of this share or more has to show on held-out inputs too."""
_KEPT = 0.25
"""The part of such a gain that has to show there: other inputs gain more or less."""
_TOLD = 5
_FEW = 3
"""With fewer samples than this, their spread says nothing about noise."""


@value
class Measurement:
    metric: float
    name: str = ""
    """The evaluator's name for the number."""
    passing: int | None = None
    failing: int | None = None
    samples: tuple[float, ...] = ()
    """The number of each run; the metric is their median."""
    held_out: float | None = None
    """The number on held-out inputs; None if there are none."""
    said: str = ""
    """The evaluator's other output, if tests failed; never that of a held-out evaluation."""

    @property
    def noise(self) -> float:
        """The median distance of the samples from the metric."""
        if len(self.samples) < _FEW:
            return 0.0
        return median(abs(sample - self.metric) for sample in self.samples)


@value
class EvaluationFailed:
    """Why an evaluation gave no number."""

    kind: Trouble
    why: str
    output: str = ""
    """The end of the command's output; empty for a held-out evaluation."""


# -- reading ----------------------------------------------------------------------------------


def read_measurement(output: str, exit_code: int | None, name: str = "") -> Measurement | EvaluationFailed:
    """Reads the JSON on the last line, or lines `METRIC name=number`.

    `name` is the program's name for its metric: a key of the JSON, and the line that is chosen. Other lines
    are ignored. Two measurements that differ count as none: the code under test may have printed one of them.
    """
    document, line = _read_json(output, name), _read_lines(output, name)
    found = document or line
    if isinstance(document, Measurement) and isinstance(line, Measurement) and document.metric != line.metric:
        found = _two(f"{document.name} is {document.metric:g}, and METRIC {line.name} is {line.metric:g}")
    if found is None:
        return EvaluationFailed("unreadable", _describe_missing(output, exit_code, name), _tail(output))
    if isinstance(found, EvaluationFailed):
        return EvaluationFailed(found.kind, found.why, _tail(output))
    if exit_code != 0 and not found.failing:
        return EvaluationFailed(
            "failed", f"the evaluation ended with {_describe_exit(exit_code)}", _tail(output)
        )
    if not found.failing:
        return found
    beside = [line.strip() for line in output.splitlines() if not line.strip().startswith("{")]
    return replace(found, said="; ".join([line for line in beside if line][-_TOLD:]))


def _read_json(output: str, name: str) -> Measurement | EvaluationFailed | None:
    keys = (*((name,) if name else ()), *_KEYS)
    documents = [one for line in output.splitlines() if (one := _as_document(line, keys)) is not None]
    if not documents:
        return None
    if any(one != documents[-1] for one in documents):
        return _two(f"{documents[0]} and {documents[-1]}")
    return _read_document(documents[-1], keys)


def _as_document(line: str, keys: Sequence[str]) -> dict[str, object] | None:
    text = line.strip()
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and any(key in found for key in keys) else None


def _read_document(document: dict[str, object], keys: Sequence[str]) -> Measurement | EvaluationFailed:
    key = next((one for one in ("metric", *keys) if one in document), "")
    said = document[key]
    if said is None:
        why = document.get("rejected_reason")
        reason = f": {why}" if isinstance(why, str) and why.strip() else ", and does not say why"
        return EvaluationFailed("rejected", f"the evaluator rejects it{reason}")
    number = None if isinstance(said, str) else as_number(said)
    if number is None:
        return _no_number(key, said)
    counts: dict[str, int | None] = {}
    for one in ("passing", "failing"):
        told = document.get(one)
        count = None if isinstance(told, str) else as_number(told)
        counts[one] = int(count) if count is not None and count >= 0 and count == int(count) else None
        if counts[one] is None and told is not None:
            return EvaluationFailed("unreadable", f"`{one}` is {told!r}, and not a count of tests")
    return Measurement(number, key, counts["passing"], counts["failing"], (number,))


def _read_lines(output: str, name: str) -> Measurement | EvaluationFailed | None:
    found = [line for text in output.splitlines() if (line := _METRIC_LINE.fullmatch(text))]
    chosen = [line for line in found if line[1] == name] or [line for line in found if line[1] == found[0][1]]
    if not chosen:
        return None
    if any(line[2] != chosen[0][2] for line in chosen):
        return _two(f"{chosen[0][0].strip()} and {chosen[-1][0].strip()}")
    key, said = chosen[0][1], chosen[0][2]
    number = as_number(said)
    if number is None:
        return _no_number(key, said)
    return Measurement(number, key, samples=(number,))


def _no_number(key: str, said: object) -> EvaluationFailed:
    match said:
        case bool():
            what = f"{str(said).lower()}, which is no number"
        case str():
            what = f"the text {said!r}: print a number, without quotation marks"
        case int() | float():
            what = f"{said!r}, and only a finite number can be compared"
        case _:
            what = f"{type(said).__name__} and no number"
    return EvaluationFailed("unreadable", f"`{key}` is {what}")


def _two(what: str) -> EvaluationFailed:
    return EvaluationFailed(
        "tampered",
        f"two measurements were printed that differ: {what}; one of them may be what the code under test "
        "printed. An evaluator prints one",
    )


def _describe_missing(output: str, exit_code: int | None, name: str) -> str:
    if exit_code != 0:
        return f"the evaluation ended with {_describe_exit(exit_code)} and printed no metric"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = f"its last line is {lines[-1][:120]!r}" if lines else "it printed nothing"
    wanted = f'{{"{name or "metric"}": NUMBER}}'
    return f"the evaluation printed no metric: {last}; it has to be JSON on one line, as {wanted}"


def _describe_exit(exit_code: int | None) -> str:
    return "a signal" if exit_code is None else f"exit code {exit_code}"


_TAIL = 2000


def _tail(output: str) -> str:
    return output.strip()[-_TAIL:]


def combine_samples(found: Sequence[Measurement]) -> Measurement:
    """The median of several runs, with the most tests that failed in one of them."""
    samples = tuple(one.metric for one in found)
    passing = [one.passing for one in found if one.passing is not None]
    failing = [one.failing for one in found if one.failing is not None]
    return Measurement(
        median(samples),
        found[0].name,
        min(passing) if passing else None,
        max(failing) if failing else None,
        samples,
        said=next((one.said for one in found if one.said), ""),
    )


# -- judging ----------------------------------------------------------------------------------


@value
class MetricJudgement:
    accepted: bool
    why: str
    completed: bool = False
    """The program's target is met."""


def must_measure_again(best: Measured, base: str, oracle: str) -> str:
    """Why the best has to be measured again; empty if it still holds."""
    if best.oracle != oracle:
        return "the evaluator, its data or its command changed since the best was measured"
    if best.base != base:
        return "the base moved since the best was measured"
    return ""


def judge_metric(
    new: Measured, best: Measured | None, program: Program, *, must_improve: bool
) -> MetricJudgement:
    """`must_improve`: the metric has to be strictly better, as in a ratchet; otherwise not worse.

    No test may fail, and an improvement has to show on held-out inputs too.
    """
    rules = program.evaluation_rules
    if new.failing:
        tests = "1 test fails" if new.failing == 1 else f"{new.failing} tests fail"
        return MetricJudgement(accepted=False, why=f"{tests}: no metric makes up for that")
    completed = meets_target(new.metric, program.target_metric, program.direction)
    if best is None:
        return MetricJudgement(
            accepted=True, why=f"{new.metric:g} is the first measurement", completed=completed
        )
    if best.name and new.name != best.name:
        why = f"another number was measured: {new.name or 'one without a name'} instead of {best.name}"
        return MetricJudgement(accepted=False, why=why)
    gain = _gain(new.metric, best.metric, program.direction)
    margin = max(rules.margin.of(best.metric), new.noise, best.noise)
    told = (
        f"{new.metric:g} against the best {best.metric:g} ({program.direction} is better, margin {margin:g})"
    )
    if gain < -margin:
        return MetricJudgement(accepted=False, why=f"worse: {told}")
    if must_improve and gain <= margin:
        return MetricJudgement(accepted=False, why=f"not better by more than the margin: {told}")
    if doubt := _doubt_gain(new, best, program, must_improve=must_improve):
        return MetricJudgement(accepted=False, why=doubt)
    word = "better" if gain > margin else "not worse"
    return MetricJudgement(accepted=True, why=f"{word}: {told}", completed=completed)


def meets_target(metric: float, target: float | None, direction: Direction) -> bool:
    return target is not None and _gain(metric, target, direction) >= 0


def _gain(new: float, old: float, direction: Direction) -> float:
    return new - old if direction == "higher" else old - new


def _doubt_gain(new: Measured, best: Measured, program: Program, *, must_improve: bool) -> str:
    """Why a gain on the known inputs is not believed; empty if it is.

    A new behaviour need not show on held-out inputs. A change that only improves a number has to.
    """
    if best.held_out is None:
        return ""
    if new.held_out is None:
        return "there is no measurement on held-out inputs to compare with that of the best"
    held = _gain(new.held_out, best.held_out, program.direction)
    told = f"{new.held_out:g} there against {best.held_out:g}"
    if held < -program.evaluation_rules.margin.of(best.held_out):
        return f"gamed or overfitted: on held-out inputs it is worse than the best, {told}"
    share = _share(_gain(new.metric, best.metric, program.direction), best.metric)
    if must_improve and share >= _MUCH and _share(held, best.held_out) < share * _KEPT:
        known = f"{share:.0%} better on the known inputs"
        return f"gamed or overfitted: {known}, and not so on held-out ones, {told}"
    return ""


def _share(gain: float, of: float) -> float:
    return gain / abs(of) if of else math.copysign(math.inf, gain) if gain else 0.0
