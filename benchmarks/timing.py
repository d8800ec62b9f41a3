"""Times several things in one interleaved run, so that a busy machine hits all of them alike."""

from __future__ import annotations

import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from verdigris.execution import test_run
from verdigris.execution.process import run
from verdigris.execution.tools import python_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    milliseconds: float
    ratio: float | None = None
    """Against the row's reference."""
    reference: str = ""
    target: str = ""


def interleaved(
    subjects: Mapping[str, Callable[[], object]], rounds: int, before: Callable[[], object] | None = None
) -> dict[str, float]:
    """Median milliseconds of each; one round runs every subject once.

    What is not measured: `before`, once a round, and what a subject returns to be called after it.
    """
    taken: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(rounds):
        if before is not None:
            before()
        for name, subject in subjects.items():
            begun = time.perf_counter()
            after = subject()
            taken[name].append((time.perf_counter() - begun) * 1000)
            if callable(after):
                after()
    return {name: statistics.median(times) for name, times in taken.items()}


def against(medians: Mapping[str, float], reference: str, targets: Mapping[str, str]) -> list[Row]:
    """A row for each subject, with its ratio to the reference."""
    base = medians[reference]
    return [
        Row(name, ms, None if name == reference else ms / base, reference, targets.get(name, ""))
        for name, ms in medians.items()
    ]


class ToolTime:
    """Seconds that a driver spent in tools (tests, linter, evaluation), taken where they are called."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def taken(self) -> Iterator[None]:
        def timed(*args: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return run(*args, **named)
            finally:
                self.seconds += time.perf_counter() - begun

        with patch.object(python_call, "run", timed), patch.object(test_run, "run", timed):
            yield


def own_rows(what: str, whose: str, taken: Iterable[tuple[float, float]]) -> list[Row]:
    """Of pairs of milliseconds, of all and of the tools in it: the medians of the tools and of the rest."""
    pairs = list(taken)
    tools = statistics.median(inside for _, inside in pairs)
    own = statistics.median(whole - inside for whole, inside in pairs)
    reference = f"{what}: in its tools"
    return [Row(reference, tools), Row(f"{what}: {whose} own", own, own / tools, reference)]


def table(rows: Iterable[Row]) -> str:
    lines = [f"{'what':<52}{'ms':>10}{'ratio':>8}  target"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append(f"{row.name:<52}{row.milliseconds:>10.2f}{ratio:>8}  {row.target}")
    return "\n".join(lines)
