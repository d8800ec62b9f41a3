"""The tripwire: what the phase protects is compared around an agent's calls, and put back in place."""

from __future__ import annotations

from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.tripwire.messages import Tripped

__all__ = ["Tripped", "after_call", "before_call"]
