"""Processes with a test tool loaded: they fork for each run, and the child enters a room made for it."""

from __future__ import annotations
