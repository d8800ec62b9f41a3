"""The machine: what a step costs beyond models and tools, and whether its prompts stay short.

The recorded run, replayed: models answer at once. So a step takes the time of the tools (tests, formatter,
linter), measured where they are called, and the machine's own: prompts, snapshots, verdicts, records, commit.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from timing import Row

from verdigris.core.records import Actor
from verdigris.drivers.happenings import Asked, StepBegan, StepEnded
from verdigris.drivers.machine import recorded
from verdigris.drivers.machine.roles import TEAM
from verdigris.execution import python_call, test_run
from verdigris.execution.process import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.drivers.happenings import Happening

STEPS = 20


class _Clock:
    """Milliseconds of each step that ended in a commit: of all of it, and of the tools in it."""

    def __init__(self) -> None:
        self.steps: dict[str, list[tuple[float, float]]] = {role: [] for role in TEAM.names}
        self.prompts: list[int] = []
        """Tokens of each call, as they were counted when it was recorded."""
        self._began = 0.0
        self._tools = 0.0

    def __call__(self, happening: Happening) -> None:
        if isinstance(happening, StepBegan):
            self._began, self._tools = time.perf_counter(), 0.0
        elif isinstance(happening, Asked):
            self.prompts.append(happening.prompt)
        elif isinstance(happening, StepEnded) and happening.commit:
            whole = time.perf_counter() - self._began
            self.steps[happening.role].append((whole * 1000, self._tools * 1000))

    @contextmanager
    def around_tools(self) -> Iterator[None]:
        def timed(*args: Any, **named: Any) -> Any:
            begun = time.perf_counter()
            try:
                return run(*args, **named)
            finally:
                self._tools += time.perf_counter() - begun

        with patch.object(python_call, "run", timed), patch.object(test_run, "run", timed):
            yield


def rows() -> list[Row]:
    clock = _Clock()
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name, clock.around_tools():
        os.environ["HOME"] = name
        ended = recorded.replay(Path(name).resolve() / "kata", Actor(client="bench"), clock, STEPS)
    first, last = clock.prompts[4], clock.prompts[-1]
    return [
        *(row for role, taken in clock.steps.items() for row in _of_role(role, taken)),
        Row(
            f"tokens of the last call against the fifth, {ended.steps} steps",
            0.0,
            last / first,
            target="<= 2.0",
        ),
        Row("share of the prompts that is uncached", 0.0, ended.uncached / max(1, sum(clock.prompts))),
    ]


def _of_role(role: str, taken: list[tuple[float, float]]) -> list[Row]:
    tools = statistics.median(inside for _, inside in taken)
    own = statistics.median(whole - inside for whole, inside in taken)
    reference = f"{role}'s step: in its tools"
    return [Row(reference, tools), Row(f"{role}'s step: the machine's own", own, own / tools, reference)]


if __name__ == "__main__":
    from timing import table

    print(table(rows()))
