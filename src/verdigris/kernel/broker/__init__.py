"""Serves `tdd` calls that are made inside a sandbox, from outside of it."""
