"""Ends whatever a command started and left behind, also what left its process group."""

from __future__ import annotations

import os
import signal
import sys
import time

from verdigris.sandbox.syscalls import prctl

PATIENCE = 10.0
"""Seconds for killing them."""
_PR_SET_CHILD_SUBREAPER = 36


class Descendants:
    """All processes that are started from now on, and those that they start.

    Whoever loses its parent becomes our child, so that killing children gets all. Nothing else of ours may
    start a process meanwhile. On systems other than Linux nothing is known of them.
    """

    def __init__(self) -> None:
        self._others: set[int] = set()
        if sys.platform == "linux":
            prctl(_PR_SET_CHILD_SUBREAPER, 1)
            self._others = _children()

    def end(self) -> bool:
        """Whether none is left."""
        if sys.platform != "linux":
            return True
        try:
            return self._kill()
        finally:
            prctl(_PR_SET_CHILD_SUBREAPER, 0)

    def _kill(self) -> bool:
        deadline = time.monotonic() + PATIENCE
        while left := _children() - self._others:
            if time.monotonic() > deadline:
                return False
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # ours: its number stays its own until we wait for it
            for pid in left:
                os.waitpid(pid, 0)
        return True


def _children() -> set[int]:
    mine = str(os.getpid())
    return {int(pid) for pid in filter(str.isdigit, os.listdir("/proc")) if _parent(pid) == mine}  # noqa: PTH208


def _parent(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no path of ours
            return file.read().rpartition(b")")[2].split()[1].decode()
    except OSError:
        return ""
