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
_STEP = {
    "type": "object",
    "properties": {"title": _TEXT, "test_id": _TEXT, "test_file_path": _TEXT},
    "required": ["title"],
    "additionalProperties": False,
}
_STEPS = {"type": "array", "items": _STEP}
_PATH = {**_TEXT, "description": "from the project's root"}
_MORE = {
    **_FLAG,
    "description": "true: another edit of the same change follows in your next reply, so do not judge it yet",
}


def _tool(
    name: str,
    description: str,
    required: Mapping[str, Mapping[str, Any]],
    optional: Mapping[str, Mapping[str, Any]] | None = None,
) -> ToolSpec:
    parameters = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, description, parameters)


_COMMON = (
    _tool(
        "read_file",
        "A file's text with line numbers.",
        {"path": _PATH},
        {"first": {**_NUMBER, "description": "line to begin with"}, "lines": _NUMBER},
    ),
    _tool(
        "list_files", "The files whose path matches a glob.", {"glob": {**_TEXT, "description": "** for all"}}
    ),
    _tool(
        "search",
        "Lines that contain a text, with file and number.",
        {"text": _TEXT},
        {"glob": _TEXT, "regex": _FLAG},
    ),
    _tool(
        "write_file",
        "Writes a whole file; only after two failed edits of that file.",
        {"path": _PATH, "content": _TEXT},
        {"more": _MORE},
    ),
    _tool(
        "run_tests",
        "Runs tests and records what is red. Without ids: the whole suite.",
        {},
        {"ids": {**_TEXTS, "description": "test ids, files or names"}},
    ),
    _tool(
        "edit_claim",
        "Says which red tests your next edits make pass; freezes the tests until the verdict.",
        {"test_ids": _TEXTS},
        {"paths": {**_TEXTS, "description": "source that you will edit; default: all"}},
    ),
    _tool("submit_plan", "The steps of the task, each with the test that will prove it.", {"steps": _STEPS}),
    _tool("mark_step", "Says that a step is done; a verdict has to have made it green.", {"step": _NUMBER}),
    _tool(
        "revise_plan",
        "Replaces the steps that are not green.",
        {"reason": _TEXT, "remaining_steps": _STEPS},
    ),
    _tool(
        "shell",
        "Runs a command in a sandbox where protected files are read-only. `job` reads a background job.",
        {},
        {
            "command": _TEXT,
            "seconds": {**_NUMBER, "description": "time limit"},
            "background": _FLAG,
            "job": _TEXT,
            "stop": {**_FLAG, "description": "ends the job"},
        },
    ),
    _tool("refactor_begin", "Opens a refactor: source may change, behaviour and tests may not.", {}),
    _tool(
        "refactor_end",
        "Has the refactor judged.",
        {},
        {"abort": {**_FLAG, "description": "gives it up; its edits are set aside"}},
    ),
    _tool(
        "test_bug",
        "Reports that a test is wrong: it is never edited while frozen. Always allowed.",
        {"place": {**_TEXT, "description": "FILE:LINE or test id"}, "why": _TEXT},
    ),
    _tool("finish", "Ends your work on the task, with a summary for the person.", {"summary": _TEXT}),
)
_REPLACING = (
    _tool(
        "edit_file",
        "Replaces a text that stands exactly once in a file.",
        {
            "path": _PATH,
            "search": {**_TEXT, "description": "exactly as in the file, without line numbers"},
            "replace": _TEXT,
        },
        {"more": _MORE},
    ),
    _tool("create_file", "Makes a new file.", {"path": _PATH, "content": _TEXT}, {"more": _MORE}),
)
_PATCHING = (
    _tool(
        "apply_patch",
        "Applies a patch from `*** Begin Patch` to `*** End Patch`; quoted lines have to match exactly.",
        {"patch": _TEXT},
        {"more": _MORE},
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
You are a coding agent in a repository where test-driven development is a law of the tools, not a \
request.

How a change is made:
1. Red. Write one failing test, then run_tests with its id. It has to fail on an assertion, or inside \
the project's source. Where the test needs names that do not exist yet, write stubs for them: \
declarations whose bodies only raise, pass or return a constant, marked `STUB:TDD`.
2. Claim. An edit of source right after a single valid red claims it; with several reds call edit_claim. \
From then on the tests are frozen.
3. Green. Edit source. Put all edits of a change into one reply, as several calls; if you must spread \
them over replies, set `more` on all but the last. When a reply with edits ends, the kernel runs the \
claimed tests and the suite and gives a verdict in a line that begins with [tdd].
4. accepted: go on with the next test. Anything else: read the reasons and repair. Twice not accepted: \
your edits are set aside, and you begin again from the red.

Rules:
- Source cannot be edited before a test is red. Tests cannot be edited from claim to verdict. Tests are \
never deleted, skipped or weakened.
- A wrong test is reported with test_bug; to stop there is right.
- Restructuring without new behaviour goes between refactor_begin and refactor_end.
- Write general code. Do not make source answer the examples of the tests.
- A denial says the rule, the reason and the next move: take that move. What a shell may not write, no \
other command may write either.
- For more than one test, call submit_plan first: steps {title, test_id, test_file_path}. Where there \
are no tests yet, step 1 writes the first failing one.
- Read a file before you edit it. Keep replies short. When the task is done, call finish.
"""
