"""Where a test is defined: in the file that holds it, or in the one that it was pulled in from."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

    from .names import Names  # noqa: TID252 - the package has another name when injected


def definition(names: Names, path: str, line: int, name: str, code: CodeType | None) -> dict[str, Any]:
    """`path`, `line`, `name`: as the tool tells them. `code`: what the author wrote, if there is any."""
    if code is None or code.co_filename == path:
        return {"line": code.co_firstlineno if code else line, "in": names.path(path)}
    pattern = rf"^\s*(async\s+)?def\s+{re.escape(name)}\b"
    if re.search(pattern, "".join(linecache.getlines(path)), re.MULTILINE):
        return {"line": line, "in": names.path(path)}
    return {"line": code.co_firstlineno, "in": names.path(code.co_filename)}
