"""Runs with different texts of the test files, each forked from one process; none knows which it is."""

from __future__ import annotations
