"""The tripwire: compares what the phase protects around an agent's calls, and puts it back."""

from __future__ import annotations
