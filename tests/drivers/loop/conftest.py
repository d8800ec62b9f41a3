from __future__ import annotations

from support.kernel_fixtures import homeless, lean, world

__all__ = ["homeless", "lean", "world"]
