"""The keys that pytest and coverage read in `pyproject.toml`, `setup.cfg` and `tox.ini`."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from verdigris.languages.forms_runnerkeys import at, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS = (
    ("tool", "pytest"),
    ("tool", "coverage"),
    ("project", "entry-points", "pytest11"),
    ("tool", "poetry", "plugins", "pytest11"),
)
_SECTION = re.compile(r"(?:tool:)?pytest|coverage(?::.*)?")
_ENTRY_POINTS = "options.entry_points"


def pyproject(text: str) -> bytes:
    document = tomllib.loads(text)
    return canonical({".".join(keys): at(document, *keys) for keys in _KEYS})


def sections(text: str) -> bytes:
    return "\n".join(_ini_lines(text)).encode()


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
