"""Answers as late as the slowest of the last answers, so that the time of one says nothing."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.sandbox.notes import recall, remember

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LAST = 10


@contextmanager
def answer_evenly(note: Path) -> Iterator[None]:
    """`note`: the file that keeps how long the last answers took, where the judged cannot read."""
    began = time.monotonic()
    try:
        yield
    finally:
        took, known = time.monotonic() - began, recall(note).get("seconds", [])
        remember(note, json.dumps({"seconds": [*known, took][-_LAST:]}).encode())
        time.sleep(max(0.0, find_delay(took, known)))


def find_delay(took: float, known: list[float]) -> float:
    """How many seconds later to answer."""
    return max([took, *known]) - took
