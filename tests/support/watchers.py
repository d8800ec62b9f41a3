"""Watchers of runs, for tests about something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdigris.drivers.happenings import Happening


def ignore_event(_: Happening) -> None:
    """Watches a run and does nothing."""
