"""Reads Python tests: their assertions, helpers and shared oracles."""

from __future__ import annotations
