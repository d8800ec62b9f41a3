"""Checks that a refactor kept the behaviour."""

from __future__ import annotations
