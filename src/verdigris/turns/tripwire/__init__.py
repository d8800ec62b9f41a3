"""The tripwire: compares what the phase protects around an agent's calls, and puts it back."""

from __future__ import annotations

from verdigris.turns.tripwire.calls import after_call, before_call
from verdigris.turns.tripwire.messages import Tripped

__all__ = ["Tripped", "after_call", "before_call"]
