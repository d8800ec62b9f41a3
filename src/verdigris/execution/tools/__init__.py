"""One module per test tool: finds the tool on this machine, gives it its caches, and runs it in a room."""

from __future__ import annotations
