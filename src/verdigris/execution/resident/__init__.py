"""Resident processes: test tools that stay loaded between runs, for feedback only; verdicts run cold."""

from __future__ import annotations
