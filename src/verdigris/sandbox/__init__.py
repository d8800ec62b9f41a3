"""Confines a child: an overlay in place of the worktree, the rest read-only, a network of its own."""

from __future__ import annotations
