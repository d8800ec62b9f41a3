"""What moves turns on: the machine and the demo."""

from __future__ import annotations
