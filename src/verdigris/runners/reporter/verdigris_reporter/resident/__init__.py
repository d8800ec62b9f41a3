"""Processes that keep a test tool loaded. They fork for each run; the child enters the room of that run."""

from __future__ import annotations
