"""What is Claude Code's own in hook calls: its tools, what they write, and whom it can ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verdigris.gates.calls import Manner
from verdigris.gates.clients.claude.quick import NAME, OWN, READERS, SHELLS, WRITERS
from verdigris.gates.clients.hook_dialect import HookDialect, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verdigris.turns.write import Rewrite


NOBODY_IS_ASKED = frozenset({"bypassPermissions", "dontAsk"})
CAP = 8


def manner(tool: str) -> Manner:
    if tool in WRITERS:
        return Manner.WRITES
    if tool in SHELLS:
        return Manner.SHELL
    if tool in READERS:
        return Manner.READS
    return Manner.OWN if tool in OWN else Manner.FOREIGN


def writes(tool: str, arguments: Mapping[str, Any]) -> dict[str, Rewrite | None] | None:
    """None if the call does not name its file as the tool requires."""
    path = arguments.get(WRITERS[tool])
    if not isinstance(path, str) or not path:
        return None
    return {path: _rewrite(tool, arguments)}


def _rewrite(tool: str, arguments: Mapping[str, Any]) -> Rewrite | None:
    """None if the new content cannot be determined: then any content is assumed."""
    if tool == "Write":
        content = arguments.get("content")
        return (lambda _: _bytes(content)) if isinstance(content, str) else None
    edits = arguments.get("edits") if tool == "MultiEdit" else [arguments] if tool == "Edit" else None
    if not isinstance(edits, list) or not all(map(_is_edit, edits)):
        return None
    return lambda before: _apply_edits(before, edits)


def _is_edit(edit: Any) -> bool:
    return (
        isinstance(edit, dict)
        and all(isinstance(edit.get(key), str) for key in ("old_string", "new_string"))
        and isinstance(edit.get("replace_all", False), bool)
    )


def _apply_edits(before: bytes | None, edits: Iterable[Mapping[str, Any]]) -> bytes | None:
    """None if the old text is not in the file just so: the client may find it by other means."""
    content = (before or b"").decode("utf-8", "surrogateescape")
    for edit in edits:
        old, new = edit["old_string"], edit["new_string"]
        if old not in content:
            content = content.replace("\r\n", "\n")
        if old not in content or (not old and content):
            return None
        content = content.replace(old, new, -1 if edit.get("replace_all") else 1)
    return _bytes(content)


def _bytes(content: str) -> bytes | None:
    try:
        return content.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None


def _is_attended(payload: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    mode = text(payload, "permission_mode")
    return mode not in NOBODY_IS_ASKED and environment.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"


def _most_refusals(environment: Mapping[str, str]) -> int:
    given = environment.get("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < len("1000") else CAP


DIALECT = HookDialect(NAME, manner, writes, _is_attended, _most_refusals)
