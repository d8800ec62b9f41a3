"""The five classes of a path, from the most protected to the least."""

from __future__ import annotations

from enum import StrEnum


class PathClass(StrEnum):
    SWITCH = "switch"
    TEST = "test"
    SPEC = "spec"
    SOURCE = "source"
    OTHER = "other"
