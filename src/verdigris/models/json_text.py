"""Reads JSON that a model wrote. Slips that leave no doubt are mended; everything else is a fault."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_TRAILING = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
"""A comma before a closing bracket; strings are skipped whole."""
_WORDS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\b(?:true|false|null)\b""")
_PYTHON = {"true": "True", "false": "False", "null": "None"}


class UnsoundJson(ValueError):
    """It can be parsed, and leaves a doubt about its meaning."""


def keys_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` that refuses a key that is given twice, where `json` takes the last one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UnsoundJson(f"the key {twice!r} is given twice in one object")
    return found


def repair_json(text: str) -> Any | None:
    """The value of an object or array with trailing commas or Python's quotes; None if it is not that.

    None for a sound object, too: its reader reports what is odd about it.
    """
    if text[:1] not in {"{", "["}:
        return None
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return _with_slips(text)
    return found if isinstance(found, list) else None


def _with_slips(text: str) -> Any | None:
    try:
        return json.loads(_TRAILING.sub(lambda found: "" if found[0] == "," else found[0], text))
    except (json.JSONDecodeError, RecursionError):
        pass
    if "'" not in text:
        return None
    try:
        found = ast.literal_eval(_WORDS.sub(lambda word: _PYTHON.get(word[0], word[0]), text))
    except (SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return None
    return found if isinstance(found, dict | list) else None
