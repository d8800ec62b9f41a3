"""Claude Code: its hook calls, its settings, its checks."""

from __future__ import annotations
