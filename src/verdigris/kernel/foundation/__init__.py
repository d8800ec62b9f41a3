"""What stands below the tests: the interpreter's start-up files and the runner's own distribution."""

from __future__ import annotations

from verdigris.kernel.foundation.frozen import changed, prepare
from verdigris.kernel.foundation.undermined import CHANGED, undermined

__all__ = ["CHANGED", "changed", "prepare", "undermined"]
