"""Readings of other languages than Python; a grammar is loaded for the first file that needs it."""
