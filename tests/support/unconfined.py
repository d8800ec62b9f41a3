"""A system on which no process can be confined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.sandbox import child

if TYPE_CHECKING:
    import pytest


def without_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = child.Ability("namespaces", ok=False, why="not here")
    monkeypatch.setattr(
        child, "recall_availability", lambda _: child.Availability(None, disk=False, abilities=(refused,))
    )
