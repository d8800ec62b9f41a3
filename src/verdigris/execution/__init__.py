"""Runs commands and tests: processes, rooms, resident processes, test tools."""

from __future__ import annotations
