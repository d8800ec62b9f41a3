"""Exports proven changes as a corpus: triples of a red test, an edit and a green, and replays them."""

from __future__ import annotations
