"""A user's own hook in the sandbox: what it could not write is explained where it says so, and nothing else.

Its exit code stays as it is: what a user's hook forbids, nobody here allows.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # see card.py
if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "CLAUDE_PROJECT_DIR"
"""Stands in the environment of hooks, and not of an agent's commands."""
SIGNS = (b"Read-only file system", b"Device or resource busy")
WHY = (
    b"[tdd] a hook of the user's could not write there: the path is protected in this phase. "
    b"Nothing is broken, and the hook runs again after the next edit.\n"
)


def held(environment: Mapping[str, str]) -> int:
    """Where a hook's stderr is kept until it has ended; -1 for anything else."""
    return os.memfd_create("stderr") if MARK in environment else -1


def explained(kept: int) -> None:
    if kept < 0:
        return
    said = os.pread(kept, os.fstat(kept).st_size, 0)
    if any(sign in said for sign in SIGNS):
        said += WHY
    while said:
        said = said[os.write(2, said) :]
