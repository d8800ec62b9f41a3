"""`parse`: a Python text as a tree, with every way in which it may be none told by SyntaxError."""

from __future__ import annotations

import ast
import warnings


def parse(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None
