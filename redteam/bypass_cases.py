"""The two forms in which tool calls are kept: one a file with its whole payload, and short ones in a list."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    attack: bool
    category: str
    payload: dict[str, Any]
    phase: str = "green"
    """That the project is in before the call."""
    first: str = ""
    """A shell command of an earlier call."""


def cases_in(folder: Path, names: Mapping[str, str]) -> list[Case]:
    """`names`: what stands in the texts for the paths of this run."""
    return [case for file in sorted(folder.glob("*.json")) for case in _cases(_read(file, names), names)]


def bash(root: object, command: str) -> dict[str, Any]:
    return call(root, "Bash", {"command": command})


def call(root: object, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    about = {"session_id": "s1", "cwd": str(root), "hook_event_name": "PreToolUse"}
    return {**about, "tool_name": tool, "tool_input": given}


def _read(file: Path, names: Mapping[str, str]) -> Any:
    text = file.read_text()
    for name, path in names.items():
        text = text.replace(name, path)
    return json.loads(text)


def _cases(known: Any, names: Mapping[str, str]) -> Iterator[Case]:
    if isinstance(known, dict):
        yield Case(known["name"], known["expect"] == "deny", known["category"], known["payload"])
        return
    for short in known:
        given = {"command": short["command"]} if "command" in short else short["input"]
        payload = call(names["{ROOT}"], short.get("tool", "Bash"), given)
        attack = short["expect"] == "deny"
        yield Case(short["name"], attack, short["category"], payload, short["phase"], short.get("first", ""))
