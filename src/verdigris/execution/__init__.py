"""Runs commands and tests: processes, rooms, resident processes, tools that build."""

from __future__ import annotations
