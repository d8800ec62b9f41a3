"""How pytest is called, so that it behaves as `python -m pytest` and reports every result."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING

from verdigris.runners import python
from verdigris.runners.python import BOOTSTRAP, CHANNEL, PythonTool

if TYPE_CHECKING:
    from verdigris.runners.python import Asked

__all__ = ["BOOTSTRAP", "CHANNEL", "PYTEST", "invocation"]

_PLUGIN = "verdigris_reporter.plugin"
_EVERY_RESULT = ("--maxfail=0", "--continue-on-collection-errors")
"""A verdict needs every result, whatever `-x` in the project's configuration says."""


def _arguments(asked: Asked) -> tuple[str, ...]:
    listed = ("--collect-only", "-q") if asked.collect_only else ()
    cache = () if asked.cache_dir is None else ("-o", f"cache_dir={asked.cache_dir}")
    paths = map(_findable, asked.paths)
    return ("-p", _PLUGIN, *asked.extra, *_EVERY_RESULT, *listed, *cache, *paths)


def _findable(path: str) -> str:
    """In an argument `[` and `::` begin the name of a test, and `@` names a file of arguments."""
    while "[" in path or "::" in path:
        path = posixpath.dirname(path) or "."
    return f"./{path}" if path.startswith(("-", "@")) else path


PYTEST = PythonTool("pytest", (), _arguments)
invocation = partial(python.invocation, PYTEST)
