"""`makes`: whether a test that is written in a file, as a grammar tells it, is one that a tool reports."""

from __future__ import annotations

import re

_FILLED_IN = r"%%|%[a-zA-Z#$]|\$\{[^}]*\}|\$#|\$[\w.]+"
"""What the rows of a table, or the values of variables, take the place of in a name."""
_QUOTED = r"(^| › )`(.*?)`(?= › |$)"


def makes(language: str | None, written: str, reported: str) -> bool:
    """Names without their file; a name that is computed is not known to make any."""
    match language:
        case "rust":
            # Modules that lead to the file may stand before it, and the cases of its table behind.
            return f"::{written}::" in f"::{reported}::"
        case "go":
            return f"{reported}/".startswith(f"{written}/")
        case "node":
            return written == reported or _fills(written, reported)
        case _:
            return written == reported


def _fills(written: str, reported: str) -> bool:
    fixed = re.split(_FILLED_IN, re.sub(_QUOTED, r"\1\2", written))
    return len(fixed) > 1 and re.fullmatch(".*".join(map(re.escape, fixed)), reported, re.DOTALL) is not None
