"""The names of folders that tools fill: packages that they install, and what they remember between runs."""

from __future__ import annotations

NODE_MODULES = "node_modules"
ENVIRONMENTS = (".venv", "venv", "env", ".env")
"""What people call an environment of Python's."""
ENVIRONMENT_PARTS = ("bin", "include", "lib", "lib64", "share", "etc", "man", "conda-meta", "pyvenv.cfg")
"""What a tool puts into an environment; whatever else lies there is somebody's own."""
FILLED = (".tox", ".nox", ".eggs")
"""Environments and packages of Python's, the folder as a whole."""
CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
"""No language's files lie here: one that does was put there by hand."""
