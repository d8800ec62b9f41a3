"""One folder per coding agent."""

from __future__ import annotations
