from __future__ import annotations

from support.kernel_fixtures import homeless, lean, shallow_calls, world

__all__ = ["homeless", "lean", "shallow_calls", "world"]
