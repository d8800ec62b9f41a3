"""The tools of a session, and the system text that tells a model how to work with them.

The set is chosen once, by the model's name: a tool is closed by refusing its call, never by leaving it out.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verdigris.models.protocol import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

READING = frozenset({"read_file", "list_files", "search", "run_tests"})
"""Calls that change no file: repeating one makes sense after another kind of call."""
EDITING = frozenset({"edit_file", "create_file", "write_file", "apply_patch"})

_TELLING = ("path", "command", "ids", "test_ids", "text", "glob", "place", "job", "step", "summary")
"""The argument that says most about a call, in this order."""
_ABOUT = 90

_TEXT, _FLAG, _NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
_TEXTS = {"type": "array", "items": _TEXT}
_STEPS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"title": _TEXT, "test_id": _TEXT, "test_file_path": _TEXT},
        "required": ["title"],
    },
}


def _tool(
    name: str,
    description: str,
    required: Mapping[str, Mapping[str, Any]],
    optional: Mapping[str, Mapping[str, Any]] | None = None,
) -> ToolSpec:
    """Only what a model needs to call it: these words stand in every prompt. `read_arguments` refuses what is
    not named here, so the schema does not say that others are not allowed.
    """
    parameters: dict[str, Any] = {"type": "object", "properties": {**required, **(optional or {})}}
    return ToolSpec(name, description, parameters | ({"required": list(required)} if required else {}))


_COMMON = (
    _tool(
        "read_file",
        "A file's text with line numbers; some lines from `first` on.",
        {"path": _TEXT},
        {"first": _NUMBER, "lines": _NUMBER},
    ),
    _tool("list_files", "Files that match a glob; ** for all.", {"glob": _TEXT}),
    _tool("search", "Lines that contain a text.", {"text": _TEXT}, {"glob": _TEXT, "regex": _FLAG}),
    _tool(
        "write_file",
        "Writes a whole file; only after two failed edits of it.",
        {"path": _TEXT, "content": _TEXT},
        {"more": _FLAG},
    ),
    _tool("run_tests", "Runs test ids or files, without ids all; records reds.", {}, {"ids": _TEXTS}),
    _tool(
        "edit_claim",
        "Which reds your edits make pass.",
        {"test_ids": _TEXTS},
        {"paths": _TEXTS},
    ),
    _tool("submit_plan", "The steps, each with the test that proves it.", {"steps": _STEPS}),
    _tool("mark_step", "A step that a verdict made green is done.", {"step": _NUMBER}),
    _tool("revise_plan", "Replaces steps that are not green.", {"reason": _TEXT, "remaining_steps": _STEPS}),
    _tool(
        "shell",
        "Runs a command in a sandbox; or shows, or stops, a background job.",
        {},
        {"command": _TEXT, "seconds": _NUMBER, "background": _FLAG, "job": _TEXT, "stop": _FLAG},
    ),
    _tool("refactor_begin", "To restructure: source may change, behaviour not.", {}),
    _tool("refactor_end", "Judges the refactor, or gives it up.", {}, {"abort": _FLAG}),
    _tool("test_bug", "A test is wrong: FILE:LINE or id.", {"place": _TEXT, "why": _TEXT}),
    _tool("finish", "Ends the task.", {"summary": _TEXT}),
)
_REPLACING = (
    _tool(
        "edit_file",
        "Replaces a text that stands exactly once in a file.",
        {"path": _TEXT, "search": _TEXT, "replace": _TEXT},
        {"more": _FLAG},
    ),
    _tool("create_file", "Makes a new file.", {"path": _TEXT, "content": _TEXT}, {"more": _FLAG}),
)
_PATCHING = (
    _tool(
        "apply_patch",
        "Applies a patch from `*** Begin Patch` to `*** End Patch`; quoted lines have to match exactly.",
        {"patch": _TEXT},
        {"more": _FLAG},
    ),
)
_GPT = re.compile(r"(?:.*/)?gpt-(?!4|3|oss)", re.IGNORECASE)


def is_patching(model: str) -> bool:
    """Whether it is one of those that were trained on patches, and do better with nothing else."""
    return _GPT.match(model) is not None


def tools_for(model: str) -> tuple[ToolSpec, ...]:
    edits = _PATCHING if is_patching(model) else _REPLACING
    return tuple(sorted((*_COMMON, *edits), key=lambda tool: tool.name))


def arguments_of(text: str) -> dict[str, Any]:
    """For a person to look at: nothing where they cannot be read."""
    try:
        given = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def describe_arguments(arguments: str) -> str:
    """What a call is about, on a line."""
    given = arguments_of(arguments)
    found = next((given[name] for name in _TELLING if given.get(name)), "")
    told = " ".join(map(str, found)) if isinstance(found, list) else str(found)
    flat = " ".join(told.split())
    return flat if len(flat) <= _ABOUT else f"{flat[:_ABOUT]}…"


SYSTEM = """\
You are a coding agent. Test-driven development is a law of your tools here, not a request.

1. Red: write one failing test and run_tests its id. It fails on an assertion or inside source. Names that \
it lacks: write stubs, bodies that only raise or return a constant, marked `STUB:TDD`.
2. Green: edit source. That claims the red (reds in several files: edit_claim first) and freezes the tests. \
Put all edits of a change into one reply; else set `more` on edits that others follow in the next. After the \
reply the suite is run, and the verdict stands in a line that begins with [tdd].
3. accepted: go on with the next test. Else repair by its reasons; after two failures your edits are set \
aside, and you begin again from the red.
Calls run in order: test, run_tests and edit may be one reply.

- Tests are never deleted, skipped or weakened. A wrong one: test_bug; to stop there is right.
- Write general code, not the answers of the tests' examples.
- A denial names the next move: take it.
- Several tests: submit_plan first; without any test, step 1 writes a failing one.
- Paths are from the project's root. Read a file before you edit it. Keep replies short. When the task is \
done, call finish.
"""
