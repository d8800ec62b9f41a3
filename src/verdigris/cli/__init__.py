"""One small file per command: parse, call, render, exit code."""

from __future__ import annotations
