"""A program's state file after edits of people and runs."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("state_file.md").read_text("utf-8")
