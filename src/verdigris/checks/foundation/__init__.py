"""What stands below the tests: the interpreter, its start-up files, the runner, what runs loaded."""

from __future__ import annotations

from verdigris.checks.foundation.frozen import CHANGED, changed, folded, known_since, prepare, undermined

__all__ = ["CHANGED", "changed", "folded", "known_since", "prepare", "undermined"]
