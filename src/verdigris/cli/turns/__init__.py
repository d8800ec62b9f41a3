"""The commands of a turn: find a red, claim it, settle it; and what helps when one is stuck."""

from __future__ import annotations
