"""Checks Python tests before anybody relies on them: empty assertions, mocks, constants for their stubs."""

from __future__ import annotations
