"""Injected into the user's interpreter: standard library and pytest only, from Python 3.8 and pytest 7 on."""

from __future__ import annotations
