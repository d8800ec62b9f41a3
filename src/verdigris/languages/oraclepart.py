"""Which part of a mixed file belongs to the oracle: the runner's keys, and Rust's tests among source."""

from __future__ import annotations

from verdigris.core.pathclass import PathClass
from verdigris.languages.runnerkeys import MIXED, runner_keys
from verdigris.languages.rust import rusttests

MIXED_SOURCE = (".rs",)
"""Endings of source that may hold tests."""


def holds_tests(path: str, cls: PathClass) -> bool:
    """Whether tests may stand among the source of this file."""
    return cls is PathClass.SOURCE and path.endswith(MIXED_SOURCE)


def is_mixed(path: str, cls: PathClass) -> bool:
    """Whether a part of the file may be the oracle's while the rest is not."""
    folder, _, name = path.rpartition("/")
    return (name in MIXED and "node_modules" not in folder.split("/")) or holds_tests(path, cls)


def oracle_part(path: str, data: bytes) -> bytes:
    """Canonical bytes of what decides; empty when there is nothing. What cannot be read counts whole."""
    name = path.rpartition("/")[2]
    return runner_keys(name, data) if name in MIXED else rusttests.oracle_part(data)


def same_oracle_part(path: str, before: bytes | None, after: bytes | None) -> bool:
    return before == after or oracle_part(path, before or b"") == oracle_part(path, after or b"")
