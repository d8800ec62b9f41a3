"""One file per test tool: what to run, and what its report means. Nothing here executes."""

from __future__ import annotations
