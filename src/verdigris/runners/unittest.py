"""How unittest is called: with a reporter that needs nothing but the standard library."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from verdigris.runners import python
from verdigris.runners.python import PythonTool

if TYPE_CHECKING:
    from verdigris.runners.python import Asked


def _arguments(asked: Asked) -> tuple[str, ...]:
    """The user's options for `python -m unittest [discover]`, and behind `--` what is ours."""
    listed = ("--collect-only",) if asked.collect_only else ()
    return (*asked.extra, *listed, "--", *asked.paths)


UNITTEST = PythonTool("unittest", ("unittest",), _arguments)
invocation = partial(python.invocation, UNITTEST)
