"""Validates the tests of a cycle: coverage, reds, vacuity, strength, mocks; then what others judge."""

from __future__ import annotations
