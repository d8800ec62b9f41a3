"""Python: its tests, stubs, assertions, concerns and conventions, read with `ast`."""

from __future__ import annotations
