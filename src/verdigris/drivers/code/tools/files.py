"""The tools that read and write files; every write goes through the kernel."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from verdigris.core.actions import Decision, Deny
from verdigris.core.errors import StorageError
from verdigris.core.languages import STUB_MARK
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase
from verdigris.core.test_ids import split_id
from verdigris.drivers.code.tools.edit_formats import (
    BadEdit,
    apply_patch,
    number_lines,
    read_patch,
    replace_once,
)
from verdigris.drivers.code.tools.workbench import (
    LATIN,
    ToolAnswer,
    Workbench,
    answer_denial,
    answer_failure,
    read_text,
)
from verdigris.languages.registry import beyond_stubs
from verdigris.models.roles import tools as reading
from verdigris.models.roles.context import HUGE, as_text
from verdigris.turns.write import write

_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
WRITTEN = "written"
"""The first word of the answer to an edit that was made."""
FAILED_EDITS = 2
"""After so many failed edits of a file it may be written whole."""
_LINES = 400
"""How many lines are shown if the call does not say."""


def read_file(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    path = bench.locate(given["path"])
    if isinstance(path, ToolAnswer):
        return path
    if (bench.project.root / path).is_dir():
        return answer_failure(f"{path} is a folder: list_files shows what is in it.")
    data = bench.read_bytes(path)
    if data is None:
        return answer_failure(_describe_missing(bench, path))
    if len(data) > 100 * HUGE:
        return answer_failure(
            f"{path} is too large to be read ({len(data)} bytes): search finds lines in it."
        )
    text = read_text(data)
    if text is None:
        return answer_failure(f"{path} is not a text file ({len(data)} bytes).")
    bench.know(path, data)
    lines = text.splitlines()
    first = max(1, given.get("first", 1))
    shown = lines[first - 1 : first - 1 + max(1, given.get("lines", _LINES))]
    if not shown:
        return ToolAnswer(f"{path} has {len(lines)} lines, so there is none from {first} on.")
    last = first + len(shown) - 1
    head = f"{path}: lines {first} to {last} of {len(lines)}"
    more = f"\n(read on with first: {last + 1})" if last < len(lines) else ""
    return ToolAnswer(f"{head}\n{number_lines(shown, first)}{more}")


def _describe_missing(bench: Workbench, path: str) -> str:
    name = path.rpartition("/")[2]
    alike = sorted(other for other in bench.tree() if other.rpartition("/")[2] == name)
    named = f" Files of that name: {', '.join(alike[:5])}." if alike else ""
    return f"There is no file {path}.{named}"


def list_files(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    return ToolAnswer(reading.list_files(given["glob"] or "**", bench.tree()))


def search(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    if not given["text"]:
        return answer_failure("text is empty: say what to look for.")
    matches = reading.search(
        given["text"], bench.tree(), glob=given.get("glob", ""), regex=given.get("regex", False)
    )
    return ToolAnswer(matches)


def edit_file(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    path = bench.locate(given["path"])
    if isinstance(path, ToolAnswer):
        return path
    data = bench.read_bytes(path)
    if data is None:
        return answer_failure(f"{_describe_missing(bench, path)} create_file makes a new one.")
    text = read_text(data)
    if text is None:
        return answer_failure(f"{path} is not a text file.")
    edited = replace_once(path, text, given["search"], given["replace"])
    if isinstance(edited, BadEdit):
        return _failed_edit(bench, path, edited.words)
    return _write(bench, {path: edited}, given)


def _failed_edit(bench: Workbench, path: str, why: str) -> ToolAnswer:
    """After the second failure names another tool: a model without one would use the shell."""
    bench.failed_edits[path] += 1
    if bench.failed_edits[path] < FAILED_EDITS:
        return answer_failure(why)
    return answer_failure(
        f"{why}\nwrite_file now takes {path} as a whole: read it first, then write all of it."
    )


def create_file(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    path = bench.locate(given["path"])
    if isinstance(path, ToolAnswer):
        return path
    if (bench.project.root / path).exists() and not _holds_only_stubs(bench, path):
        return answer_failure(f"{path} exists already: change it with {_edit_tool(bench)}.")
    return _write(bench, {path: given["content"]}, given)


def _holds_only_stubs(bench: Workbench, path: str) -> bool:
    """A file of stubs may be made anew: there is nothing in it to lose."""
    data = bench.read_bytes(path)
    return data is not None and STUB_MARK.encode() in data and beyond_stubs(path, None, data) is None


def write_file(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    path = bench.locate(given["path"])
    if isinstance(path, ToolAnswer):
        return path
    data = bench.read_bytes(path)
    if data is not None and bench.failed_edits[path] < FAILED_EDITS:
        tries = f"{bench.failed_edits[path]} of {FAILED_EDITS} edits of {path} have failed so far"
        why = f"A whole file is written only where edits fail: {tries}."
        return answer_denial(Deny("edit-first", why, f"{_edit_tool(bench)}"))
    if data is not None and not bench.is_known(path, data):
        why = f"{path} has changed since you read it, or you have not read it."
        return answer_denial(
            Deny("read-first", why, f"read_file {path}, then write it with what is new in it")
        )
    return _write(bench, {path: given["content"]}, given)


def patch_files(bench: Workbench, given: Mapping[str, Any]) -> ToolAnswer:
    patches = read_patch(given["patch"])
    if isinstance(patches, BadEdit):
        return answer_failure(patches.words)
    texts: dict[str, str | None] = {}
    for spelling in (name for patch in patches for name in (patch.path, patch.move_to) if name):
        path = bench.locate(spelling)
        if isinstance(path, ToolAnswer):
            return path
        data = bench.read_bytes(path)
        texts[spelling] = None if data is None else read_text(data)
        if data is not None and texts[spelling] is None:
            return answer_failure(f"{path} is not a text file.")
    patched = apply_patch(patches, texts)
    if isinstance(patched, BadEdit):
        return _failed_edit(bench, patches[0].path, patched.words)
    return _write(bench, patched, given)


def _edit_tool(bench: Workbench) -> str:
    return "apply_patch" if bench.patching else "edit_file"


def _write(bench: Workbench, texts: Mapping[str, str | None], given: Mapping[str, Any]) -> ToolAnswer:
    """Writes all of the files or none; the kernel decides by path, phase and content."""
    state = bench.project.state()
    claims = set(state.claims)
    if bench.sweep is not None and state.phase is Phase.REFACTOR and bench.sweep.outside(texts):
        scope = ", ".join(bench.sweep.globs)
        why = f"The open sweep is about {scope}, and not about {', '.join(bench.sweep.outside(texts))}."
        return answer_denial(Deny("outside-sweep", why, "stay inside its scope, or refactor_end first"))
    try:
        files = {path: None if text is None else _encode(bench, path, text) for path, text in texts.items()}
    except UnicodeEncodeError as error:
        return answer_failure(f"The text cannot be written as {error.encoding.upper()}: {error.reason}.")
    try:
        decision = _write_tests_first(bench, files)
    except OSError as error:
        if error.errno in _DISK:
            raise StorageError(
                f"cannot write {', '.join(texts)}: {error.strerror}",
                hint="make room, then `tdd code --continue`",
            ) from error
        return answer_failure(f"It cannot be written: {error.strerror} ({', '.join(texts)}).")
    if isinstance(decision, Deny):
        return answer_denial(decision)
    for path, data in files.items():
        del bench.failed_edits[path]
        if data is not None:
            bench.know(path, data)
    implied = [claim for claim in bench.project.state().claims if claim not in claims]
    named = ", ".join(_short_name(claim) for claim in implied)
    suffix = f"; claims {named}" if implied else ""
    return ToolAnswer(f"{WRITTEN}{suffix}", wrote=True, more=given.get("more", False))


def _write_tests_first(bench: Workbench, files: Mapping[str, bytes | None]) -> Decision:
    """Tests that come with the source that they ask for are red before it is written."""
    project = bench.project
    tests = {path: data for path, data in files.items() if project.classify(path) is PathClass.TEST}
    if tests and len(tests) < len(files) and project.state().phase is Phase.RED:
        decision = write(project, tests, cwd=project.root)
        if isinstance(decision, Deny):
            return decision
        files = {path: data for path, data in files.items() if path not in tests}
    return write(project, files, cwd=project.root, sees_reds=True)


def _encode(bench: Workbench, path: str, text: str) -> bytes:
    """In the encoding that the file has: UTF-8, or Latin-1 where it was read as that."""
    data = bench.read_bytes(path)
    return text.encode("utf-8" if data is None or as_text(data) is not None else LATIN)


def _short_name(test_id: str) -> str:
    """The test's name without its file, which the model knows."""
    parts = split_id(test_id)
    return f"{parts.function}{parts.case}" or test_id
