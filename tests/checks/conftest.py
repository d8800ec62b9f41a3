from __future__ import annotations

from support.kernel_fixtures import green, homeless, world

__all__ = ["green", "homeless", "world"]
