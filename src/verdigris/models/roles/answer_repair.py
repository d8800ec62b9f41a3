"""Slips of models that leave no doubt about what is meant: mended here, so that they cost no attempt."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_TRAILING = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
"""A comma before a closing bracket; texts are skipped whole."""
_WORDS = re.compile(r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|\b(?:true|false|null)\b""")
_PYTHON = {"true": "True", "false": "False", "null": "None"}


def parsed(text: str) -> Any | None:
    """What an object or an array with slips means: trailing commas, Python's quotes. None: it is not that.

    A sound object is not looked at here, so whatever is odd about it is told by who reads it.
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


def shaped(found: Any) -> Any:
    """An array of one answer is that answer, an array of edits is their list; each edit as it must be."""
    match found:
        case [{"verdict": _} as only]:
            return shaped(only)
        case [{"path": _}, *_] if all(isinstance(each, dict) for each in found):
            return shaped({"verdict": "edit", "rationale": "", "edits": found})
        case {"edits": list(edits)}:
            usual = {"verdict": "edit"} if edits and "verdict" not in found else {}
            return {**usual, **found, "edits": [_edit(each) for each in edits]}
    return found


def _edit(edit: Any) -> Any:
    if not isinstance(edit, dict):
        return edit
    mended = dict(edit)
    match edit.get("content"):
        case [*lines] if lines and all(isinstance(line, str) for line in lines):
            ended = len(lines) > 1 and all(line.endswith("\n") for line in lines[:-1])
            mended["content"] = "".join(lines) if ended else "\n".join(lines) + "\n"
    if not edit.get("action"):
        if edit.get("to"):
            mended["action"] = "move"
        elif isinstance(mended.get("content"), str):
            mended["action"] = "upsert"
    return mended
