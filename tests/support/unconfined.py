"""A system that lets nobody confine a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris import sandbox

if TYPE_CHECKING:
    import pytest


def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = sandbox.Ability("namespaces", ok=False, why="not here")
    monkeypatch.setattr(sandbox, "remembered", lambda _: sandbox.Availability(None, "", (refused,)))
