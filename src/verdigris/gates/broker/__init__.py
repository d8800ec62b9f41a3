"""Serves `tdd` calls that are made inside a sandbox, from outside of it."""

from __future__ import annotations
