"""The append-only, hash-chained log of events."""

from __future__ import annotations
