"""Agents' shell calls: their records and what they promise to undo, who calls, and what outlives them."""

from __future__ import annotations
