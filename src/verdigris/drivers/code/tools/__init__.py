"""The tools of a session: their table, their work on the kernel, and the dispatch of calls."""

from __future__ import annotations
