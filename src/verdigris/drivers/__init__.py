"""What moves the kernel through its phases."""

from __future__ import annotations
