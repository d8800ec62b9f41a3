"""The tripwire: what the phase protects is compared around an agent's calls, and put back in place."""

from __future__ import annotations

from verdigris.core.tripwire import Tripped
from verdigris.kernel.tripwire.calls import after_call, before_call

__all__ = ["Tripped", "after_call", "before_call"]
