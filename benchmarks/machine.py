"""The machine: what a step costs beyond models and tools, and whether its prompts stay short.

The recorded run, replayed: models answer at once. So a step takes the time of the tools (tests, formatter,
linter), measured where they are called, and the machine's own: prompts, snapshots, verdicts, records, commit.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from timing import Row, ToolTime, own_rows

from support.katas import recorded_run
from verdigris.core.records import Actor
from verdigris.core.roles import names_of
from verdigris.drivers.happenings import Asked, StepBegan, StepEnded

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Happening

STEPS = 20


class _Clock:
    """Milliseconds of each step that ended in a commit: of all of it, and of the tools in it."""

    def __init__(self) -> None:
        self.steps: dict[str, list[tuple[float, float]]] = {role: [] for role in names_of("machine")}
        self.prompts: list[int] = []
        """Tokens of each call, as they were counted when it was recorded."""
        self.tools = ToolTime()
        self._began = 0.0

    def __call__(self, happening: Happening) -> None:
        if isinstance(happening, StepBegan):
            self._began, self.tools.seconds = time.perf_counter(), 0.0
        elif isinstance(happening, Asked):
            self.prompts.append(happening.prompt)
        elif isinstance(happening, StepEnded) and happening.commit:
            whole = time.perf_counter() - self._began
            self.steps[happening.role].append((whole * 1000, self.tools.seconds * 1000))


def rows() -> list[Row]:
    clock = _Clock()
    with tempfile.TemporaryDirectory(prefix="tdd-bench-") as name, clock.tools.taken():
        os.environ["HOME"] = name
        ended = recorded_run.replay(Path(name).resolve() / "kata", Actor(client="bench"), clock, STEPS)
    first, last = clock.prompts[4], clock.prompts[-1]
    return [
        *(
            row
            for role, taken in clock.steps.items()
            for row in own_rows(f"{role}'s step", "the machine's", taken)
        ),
        Row(
            f"tokens of the last call against the fifth, {ended.steps} steps",
            0.0,
            last / first,
            target="<= 2.0",
        ),
        Row("share of the prompts that is uncached", 0.0, ended.uncached / max(1, sum(clock.prompts))),
    ]


if __name__ == "__main__":
    from timing import table

    print(table(rows()))
