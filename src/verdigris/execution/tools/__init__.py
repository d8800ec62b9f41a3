"""Calls every test tool but pytest and unittest: finds it, gives it its caches, runs it in a room."""

from __future__ import annotations
