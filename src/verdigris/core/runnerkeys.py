"""Which part of a mixed file belongs to the oracle: the keys that the test runner reads."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MIXED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})

_TOML_KEYS = (
    ("tool", "pytest"),
    ("tool", "coverage"),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
_SECTION = re.compile(r"(?:tool:)?pytest|coverage(?::.*)?")
_ENTRY_POINTS = "options.entry_points"


def runner_keys(name: str, data: bytes) -> bytes:
    """Canonical bytes of the runner's part; empty when there is none.

    What cannot be parsed counts whole, so that breaking the syntax is a difference.
    """
    try:
        text = data.decode()
        return _toml_keys(text) if name == "pyproject.toml" else "\n".join(_ini_lines(text)).encode()
    except (ValueError, RecursionError):
        return data


def _toml_keys(text: str) -> bytes:
    import tomllib

    document = tomllib.loads(text)
    found = {".".join(keys): value for keys in _TOML_KEYS if (value := _at(document, keys)) is not None}
    return json.dumps(found, sort_keys=True, default=str).encode() if found else b""


def _at(document: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document


def _ini_lines(text: str) -> Iterator[str]:
    """Lines of the runner's sections, told apart as pytest's own reader does it.

    An indented header may belong to a value: it can begin a section here but never end one.
    """
    section, key = "", ""
    for line in text.splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        header = _header(bare)
        if header is not None and (line[0] == "[" or _SECTION.fullmatch(header)):
            section, key = header, ""
        elif not line[0].isspace():
            key = re.split(r"[=:]", bare, maxsplit=1)[0].strip()
        if _SECTION.fullmatch(section) or (section == _ENTRY_POINTS and key == "pytest11"):
            yield line.rstrip()


def _header(bare: str) -> str | None:
    line = re.split("[#;]", bare, maxsplit=1)[0].rstrip()
    return line[1:-1].strip() if line.startswith("[") and line.endswith("]") else None
