"""Snapshots of the worktree in the kernel's own object store, and the way back to them."""

from __future__ import annotations

from verdigris.core.change import Change, Entry
from verdigris.kernel.workspace.laying import Displaced
from verdigris.kernel.workspace.moves import Move, move_since
from verdigris.kernel.workspace.scan import LARGE_OTHER
from verdigris.kernel.workspace.workspace import Workspace

__all__ = ["LARGE_OTHER", "Change", "Displaced", "Entry", "Move", "Workspace", "move_since"]
