"""How ids and paths are shown: in a command that is to be typed, and where one stands for all."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def typed(*names: str) -> str:
    """As a shell takes them: names of tests hold blanks and signs."""
    return shlex.join(names)


def some(names: Sequence[str]) -> str:
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
