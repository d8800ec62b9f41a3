"""A live line while tests run, on a terminal only."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.status import Status as Spinner

    from verdigris.runners.protocol import Progress


@contextmanager
def live() -> Iterator[Progress | None]:
    """None where nobody watches: a pipe, a file, CI."""
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield None
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False, markup=False).status("collecting tests") as spinner:
        yield LiveLine(spinner)


class LiveLine:
    def __init__(self, spinner: Spinner) -> None:
        self._spinner = spinner
        self._total = self._done = self._failed = 0

    def collected(self, total: int) -> None:
        self._total, self._done = total, 0
        self._update("")

    def finished(self, test_id: str, status: Status) -> None:
        self._done += 1
        self._failed += status in {Status.FAIL, Status.ERROR}
        self._update(test_id)

    def _update(self, test_id: str) -> None:
        from rich.text import Text

        from verdigris.views.lines import visible

        failed = f", {self._failed} not passed" if self._failed else ""
        self._spinner.update(
            Text(f"{self._done}/{self._total} tests{failed}  {visible(test_id)}", no_wrap=True)
        )
