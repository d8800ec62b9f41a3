"""One folder per test tool: what to run, and how to read its report. Nothing here starts a process."""

from __future__ import annotations
