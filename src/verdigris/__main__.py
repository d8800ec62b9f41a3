"""`python -m verdigris` is the command `tdd`."""

from __future__ import annotations

from verdigris.cli.main import run

run()
