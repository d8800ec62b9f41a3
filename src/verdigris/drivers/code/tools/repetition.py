"""Decides when a model goes round in circles: the same call three times in six is not carried out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

WINDOW, MOST = 6, 3


@value
class CallHistory:
    """The calls since the person last spoke, the newest last; each with whether it only reads."""

    recent: tuple[tuple[str, bool], ...] = ()

    def after(self, name: str, arguments: Mapping[str, Any], *, reads: bool) -> CallHistory:
        """A call that may change files makes it worth while to read them again."""
        before = self.recent if reads else tuple(call for call in self.recent if not call[1])
        return CallHistory((*before, (_signature(name, arguments), reads))[-WINDOW:])

    def suppresses(self, name: str, arguments: Mapping[str, Any]) -> bool:
        seen = [signature for signature, _ in self.recent[-(WINDOW - 1) :]]
        return seen.count(_signature(name, arguments)) >= MOST - 1


def describe_suppression(name: str) -> str:
    return (
        f"[tdd] suppressed: {name} was called {MOST} times with the same arguments within {WINDOW} calls, "
        "and nothing changed in between. It was not run. Read what it said before, and do something else; "
        "if you cannot go on, call finish and say why."
    )


def _signature(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name} {json.dumps(arguments, sort_keys=True)}"
