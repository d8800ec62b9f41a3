"""Hands the interpreter's audit events to whoever listens.

There is one hook for all, since each event pays for each hook, and some are as frequent as calls of `id`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_HANDLERS: dict[str, tuple[Callable[[Any], None], ...]] = {}


def listen(handlers: Mapping[str, Callable[[Any], None]]) -> None:
    """`handlers`: by event; each gets its arguments, two frames below the call that caused it."""
    is_first = not _HANDLERS
    for event, handler in handlers.items():
        _HANDLERS[event] = (*_HANDLERS.get(event, ()), handler)
    if is_first:
        sys.addaudithook(_handle_event)


def _handle_event(event: str, args: Any) -> None:
    for handler in _HANDLERS.get(event, ()):
        try:
            handler(args)
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            continue  # the name is invalid: the call that used it fails by itself
