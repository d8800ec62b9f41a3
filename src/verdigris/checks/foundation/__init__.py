"""Watches what runs below the tests: interpreter, start-up files, test tool, loaded packages."""

from __future__ import annotations

from verdigris.checks.foundation.frozen import CHANGED, changed, folded, known_since, prepare, undermined

__all__ = ["CHANGED", "changed", "folded", "known_since", "prepare", "undermined"]
