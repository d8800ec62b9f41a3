"""Test files that the code under test is not to read: emptied before any of it is loaded.

Their texts are kept in memory. What is imported of them is forgotten here at once.
"""

from __future__ import annotations

import ast
import importlib
import os
from typing import Any

TEXTS: dict[str, bytes] = {}
"""By absolute path; those that were not imported yet."""


def take(settings: dict[str, Any]) -> None:
    """The tree must be disposable."""
    for path in settings.pop("withheld", ()):
        name = os.path.join(settings["worktree"], path)  # noqa: PTH118 - as everywhere here
        with open(name, "r+b") as file:  # noqa: PTH123
            TEXTS[os.path.realpath(name)] = file.read()
            file.truncate(0)
    if TEXTS:
        external: Any = importlib.import_module("importlib._bootstrap_external")
        _give_to_loader(external.FileLoader)


def give_to_pytest(rewrite: Any, settings: dict[str, Any]) -> None:
    """It reads the tests itself, to rewrite their assertions: here, or in a process that branches off."""
    original = getattr(rewrite, "_rewrite_test", None)  # the only place where they are read
    if original is None or not (TEXTS or "withheld" in settings):
        return

    def rewrite_test(fn: Any, config: Any) -> Any:
        source = TEXTS.pop(os.path.realpath(fn), None)
        if source is None:
            return original(fn, config)
        tree = ast.parse(source, filename=str(fn))
        rewrite.rewrite_asserts(tree, source, str(fn), config)
        return os.stat(fn), compile(tree, str(fn), "exec", dont_inherit=True)  # noqa: PTH116

    rewrite._rewrite_test = rewrite_test  # noqa: SLF001 - same


def _give_to_loader(loader: Any) -> None:
    original = loader.get_data

    def get_data(self: Any, path: str) -> bytes:
        source = TEXTS.pop(os.path.realpath(path), None)
        return original(self, path) if source is None else source

    loader.get_data = get_data
