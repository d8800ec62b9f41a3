"""Runs unittest and reports it message by message, as the pytest plugin does. Nothing here needs pytest."""

from __future__ import annotations
