"""Changes outside a test run while it goes on; the run itself cannot change anything there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.execution.process import Finished
from verdigris.execution.process import run as original
from verdigris.execution.tools import python_call

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call `act` at the end of every test run, before anything looks at the tree again."""

    def run(*args: Any, **kwargs: Any) -> Finished:
        finished = original(*args, **kwargs)
        act()
        return finished

    monkeypatch.setattr(python_call, "run", run)
