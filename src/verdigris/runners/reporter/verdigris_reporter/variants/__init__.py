"""Runs with different texts of the test files, all forked from one process; none can tell its text."""

from __future__ import annotations
