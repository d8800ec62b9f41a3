from __future__ import annotations

from support.kernel_fixtures import green, homeless, shallow_calls, world

__all__ = ["green", "homeless", "shallow_calls", "world"]
