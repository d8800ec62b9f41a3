"""Snapshots of the worktree in the kernel's own object store, and the way back to them."""

from __future__ import annotations
