"""Residents in tests: wait for them, distinguish their runs from cold ones, and end them with the test."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.execution.resident import forkserver, resident

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from support.turns import World

SECONDS = 90.0


def until(true: object, what: str, seconds: float = SECONDS) -> None:
    """Call `true` until it answers yes."""
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def folders(world: World) -> list[Path]:
    return sorted((world.project.repo.private / resident.FOLDER).glob("*"))


def ready(world: World) -> None:
    """Wait until the resident that the last run asked for has loaded the test tool."""
    (folder,) = map(str, folders(world))
    until(lambda: resident.is_running(folder) and resident.read_note(folder).get("ready"), "not ready")


@contextmanager
def ended(world: World) -> Iterator[None]:
    try:
        yield
    finally:
        resident.stop(str(world.project.repo.private))
        assert not [folder for folder in folders(world) if resident.is_running(str(folder))]


class Warmth:
    """The number of runs that a resident's process made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.taken: list[bool] = []
        take = forkserver.take

        def noted(*arguments: object) -> object:
            found = take(*arguments)  # type: ignore[arg-type]  # as they come
            self.taken.append(found is not None)
            return found

        monkeypatch.setattr(forkserver, "take", noted)
