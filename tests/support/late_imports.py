"""Loads slow modules for the first test that needs them, because each worker collects every file."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


def needs(package: str, reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


class LateModule:
    """A module that is loaded when one of its names is used.

    pytest asks every object of a test file whether it is a fixture; those names do not load the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
