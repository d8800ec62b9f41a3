"""Go: tests, stubs and conventions."""

from __future__ import annotations
