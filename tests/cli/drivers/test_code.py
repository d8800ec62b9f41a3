"""When `tdd code` draws a screen, and when it has a plain prompt."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest

from verdigris.cli.drivers.code import has_screen

pytestmark = pytest.mark.quick


class Stream:
    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("terminal", "term", "installed", "drawn"),
    [
        (True, "xterm", True, True),
        (True, "xterm", False, False),
        (True, "dumb", True, False),
        (True, None, True, False),
        (False, "xterm", True, False),
    ],
)
def test_a_screen_is_drawn_on_a_terminal_that_can_show_it_where_the_extra_is_installed(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, term: str | None, installed: bool, drawn: bool
) -> None:
    def find(name: str) -> Any:
        return object() if installed and name == "textual" else None

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Stream(terminal=terminal))
        patch.setattr(sys, "stderr", Stream(terminal=terminal))
        patch.delenv("TERM", raising=False)
        if term is not None:
            patch.setenv("TERM", term)
        patch.setattr(importlib.util, "find_spec", find)
        found = has_screen()
    assert found is drawn
