"""Judges the edits of each role of the machine, before they become a commit."""

from __future__ import annotations
