"""Confines a process: an overlay replaces the worktree, all else is read-only, the network is its own."""

from __future__ import annotations
