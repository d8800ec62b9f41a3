"""Verdigris: test-driven development as a law for coding agents."""

from __future__ import annotations

__version__ = "0.1.0"
