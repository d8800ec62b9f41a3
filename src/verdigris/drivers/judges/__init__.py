"""Judges the edits of roles: a red test, an implementation, a refactor. Drivers with roles share it."""
