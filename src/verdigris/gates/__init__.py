"""What stands between a coding agent and the repository: hooks, its shell, its stops."""

from __future__ import annotations
