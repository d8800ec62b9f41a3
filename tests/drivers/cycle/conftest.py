from __future__ import annotations

from support.kernel_fixtures import homeless, world

__all__ = ["homeless", "world"]
