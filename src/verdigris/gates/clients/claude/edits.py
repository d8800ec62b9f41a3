"""What a file tool of Claude Code makes of a file's bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.turns.write import Rewrite

WRITERS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}


def writes(tool: str, arguments: Mapping[str, Any]) -> dict[str, Rewrite | None] | None:
    """None where the call names no file in the way that the tool takes one."""
    path = arguments.get(WRITERS[tool])
    if not isinstance(path, str) or not path:
        return None
    return {path: _rewrite(tool, arguments)}


def _rewrite(tool: str, arguments: Mapping[str, Any]) -> Rewrite | None:
    """None where the content cannot be told: it is then decided as if it were anything."""
    if tool == "Write":
        content = arguments.get("content")
        return (lambda _: _bytes(content)) if isinstance(content, str) else None
    edits = arguments.get("edits") if tool == "MultiEdit" else [arguments] if tool == "Edit" else None
    if not isinstance(edits, list) or not all(map(_is_edit, edits)):
        return None
    return lambda before: _edited(before, edits)


def _is_edit(edit: Any) -> bool:
    return (
        isinstance(edit, dict)
        and all(isinstance(edit.get(key), str) for key in ("old_string", "new_string"))
        and isinstance(edit.get("replace_all", False), bool)
    )


def _edited(before: bytes | None, edits: Iterable[Mapping[str, Any]]) -> bytes | None:
    """None where the old text does not stand there as given: the client may know better how to find it."""
    text = (before or b"").decode("utf-8", "surrogateescape")
    for edit in edits:
        old, new = edit["old_string"], edit["new_string"]
        if old not in text:
            text = text.replace("\r\n", "\n")
        if old not in text or (not old and text):
            return None
        text = text.replace(old, new, -1 if edit.get("replace_all") else 1)
    return _bytes(text)


def _bytes(text: str) -> bytes | None:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None
