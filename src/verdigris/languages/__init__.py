"""What Verdigris knows of each programming language, one folder per language; pure, starts nothing."""

from __future__ import annotations
