"""What moves turns on: the machine, the cycle of a spec, and the demo."""

from __future__ import annotations
