"""What Verdigris knows about each programming language, one folder per language. Pure: starts no process."""

from __future__ import annotations
