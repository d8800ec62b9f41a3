"""Snapshots of the worktree in the kernel's own object store, and the way back to them."""

from __future__ import annotations

from verdigris.core.paths import Change, Entry
from verdigris.storage.snapshots.head_moves import Move, move_since
from verdigris.storage.snapshots.restoration import Displaced
from verdigris.storage.snapshots.scan import LARGE_OTHER
from verdigris.storage.snapshots.workspace import Workspace

__all__ = ["LARGE_OTHER", "Change", "Displaced", "Entry", "Move", "Workspace", "move_since"]
