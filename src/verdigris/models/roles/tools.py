"""The tools by which a model reads the project before it answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError
from verdigris.core.paths import compile_glob
from verdigris.core.value import value
from verdigris.models.protocol import ToolCall, ToolSpec
from verdigris.models.roles.check import path_fault, plain
from verdigris.models.tool_calls import arguments_of

if TYPE_CHECKING:
    from verdigris.models.roles.context import Material, Tree

MOST_NAMES = 200
MOST_HITS = 60
_LINE = 200
"""Characters of a line that was found."""
SEARCH_SECONDS = 10.0
"""For a regular expression."""
_MATCHER = """\
import json, re, sys
pattern, lines = json.load(sys.stdin)
find = re.compile(pattern).search
json.dump([at for at, line in enumerate(lines) if find(line)], sys.stdout)
"""


def _spec(name: str, description: str, argument: str, meaning: str) -> ToolSpec:
    properties = {argument: {"type": "string", "description": meaning}}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [argument],
        "additionalProperties": False,
    }
    return ToolSpec(name, description, parameters)


TOOLS = (
    _spec("read_file", "The whole text of a file as it is now.", "path", "from the project's root"),
    _spec("list_files", "The files whose path matches a glob.", "glob", "such as src/**/*.py; ** for all"),
    _spec("search", "The lines that contain a text, with file and number.", "text", "taken literally"),
)


@value
class ToolResult:
    text: str
    path: str | None = None
    """The file that was given, whole."""


def answer(call: ToolCall, material: Material, room: int) -> ToolResult:
    """Answers a call, with a sentence if there is nothing to give; at most `room` characters of a file."""
    known: dict[str, tuple[str, Callable[[str, Material, int], ToolResult]]] = {
        "read_file": ("path", _read_file),
        "list_files": ("glob", lambda glob, seen, _: ToolResult(list_files(glob, seen.tree))),
        "search": ("text", lambda text, seen, _: ToolResult(search(text, seen.tree))),
    }
    if call.name not in known:
        return ToolResult(f"There is no tool {call.name}; there are {', '.join(known)}.")
    name, carry_out = known[call.name]
    argument = arguments_of(call.arguments).get(name)
    if not isinstance(argument, str) or not argument:
        return ToolResult(f'{call.name} takes a JSON object with one text: {{"{name}": "…"}}.')
    return carry_out(argument, material, room)


def _read_file(spelling: str, material: Material, room: int) -> ToolResult:
    path = plain(spelling)
    text = material.tree.get(path)
    if path_fault(path) or not text:
        return ToolResult(why_not_read(spelling, material), path if text == "" else None)
    if len(text) > room:
        return ToolResult(
            f"{path} has {len(text)} characters, of which these are the first {room}:\n{text[:room]}"
        )
    return ToolResult(text, path)


def why_not_read(spelling: str, material: Material) -> str:
    """Says why a path gives no text."""
    path = plain(spelling)
    if fault := path_fault(path):
        return f"{spelling} cannot be read: {fault}."
    if material.is_closed(path):
        return f"{path} may not be read."
    tree = material.tree
    if path not in tree:
        return f"There is no file {path}. {_alike(path, tree)}".strip()
    return f"{path} is not a text file." if tree[path] is None else f"{path} is empty."


def _alike(path: str, tree: Tree) -> str:
    name = path.rpartition("/")[2]
    same = sorted(other for other in tree if other.rpartition("/")[2] == name)
    return f"Files of that name: {', '.join(same[:5])}." if same else ""


def list_files(glob: str, paths: Iterable[str]) -> str:
    names = _match_paths(glob, paths)
    if isinstance(names, str):
        return names
    return _cap_lines(names, MOST_NAMES) if names else f"No file matches {glob}."


def _match_paths(glob: str, paths: Iterable[str]) -> list[str] | str:
    """The paths, sorted; a text where the glob is none."""
    try:
        pattern = re.compile(compile_glob(glob))
    except ConfigError as error:
        return f"{error.message}; {error.hint}."
    return sorted(path for path in paths if pattern.fullmatch(path))


def search(text: str, tree: Tree, *, glob: str = "", regex: bool = False) -> str:
    """Lines with their file and number; `text` is taken literally unless it is a regular expression."""
    paths = _match_paths(glob, tree) if glob else sorted(tree)
    if isinstance(paths, str):
        return paths
    lines = [
        (f"{path}:{number}: ", line)
        for path in paths
        if (content := tree[path]) is not None
        for number, line in enumerate(content.splitlines(), 1)
    ]
    if not regex:
        found: list[int] | str = [at for at, (_, line) in enumerate(lines) if text in line]
    else:
        found = _match_lines(text, [line for _, line in lines])
    if isinstance(found, str):
        return found
    hits = [f"{lines[at][0]}{lines[at][1].rstrip()[:_LINE]}" for at in found]
    verb = "matches" if regex else "contains"
    return _cap_lines(hits, MOST_HITS) if hits else f"No line {verb} {text!r}."


def _match_lines(pattern: str, lines: list[str]) -> list[int] | str:
    """The numbers of the lines that match, in a process of its own: some expressions never come to an end."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"{pattern!r} is no regular expression: {error}."
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _MATCHER],
            input=json.dumps([pattern, lines]).encode(),
            capture_output=True,
            timeout=SEARCH_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return (
            f"{pattern!r} was not done after {SEARCH_SECONDS:g} s, so it was stopped: write it without "
            "repetitions inside repetitions, narrow the files by glob, or search for a plain text."
        )
    except subprocess.CalledProcessError as error:
        return f"The search with {pattern!r} failed: {error.stderr.decode(errors='replace').strip()[-_LINE:]}"
    found: list[int] = json.loads(done.stdout)
    return found


def _cap_lines(lines: list[str], most: int) -> str:
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])
