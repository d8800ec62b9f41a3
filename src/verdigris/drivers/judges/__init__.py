"""Judges what roles edited: a red test, an implementation, a refactor. Every driver with roles uses it."""

from __future__ import annotations
