"""The reporter: the user's interpreter sees it as a top-level package at the end of `sys.path`."""

from __future__ import annotations
