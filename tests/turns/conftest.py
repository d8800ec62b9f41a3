from __future__ import annotations

from support.kernel_fixtures import homeless, shallow_calls, world

__all__ = ["homeless", "shallow_calls", "world"]
