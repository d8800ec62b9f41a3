"""Calls of every test tool but pytest: found, given its caches, run in rooms, and read by its runner."""
