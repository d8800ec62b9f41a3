"""One file per command: parse, call, render its result, exit code."""

from __future__ import annotations
