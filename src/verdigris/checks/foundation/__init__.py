"""What stands below the tests: the interpreter, its start-up files, the runner, what runs loaded."""

from __future__ import annotations

from verdigris.checks.foundation.frozen import changed, known_since, prepare
from verdigris.checks.foundation.undermined import CHANGED, folded, undermined

__all__ = ["CHANGED", "changed", "folded", "known_since", "prepare", "undermined"]
