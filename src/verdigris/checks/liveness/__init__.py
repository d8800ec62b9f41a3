"""Runs true and changed tests, and judges whether a green depends on its assertions."""

from __future__ import annotations
