"""The two formats in which a model edits a file: search and replace, and the patch of GPT models."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from verdigris.core.value import value

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"
_FORM = (
    f"A patch begins with `{BEGIN}`, ends with `{END}`, and has parts that begin with `{_ADD}PATH`, "
    f"`{_UPDATE}PATH` or `{_DELETE}PATH`."
)
_LINES = {
    "add": "Each line of a new file begins with `+`.",
    "delete": "A deleted file has no lines.",
    "update": "Lines begin with a blank (stays), `-` (goes) or `+` (comes); `@@ LINE` says after which line.",
}
_AROUND = 3
"""How many lines are shown on each side of the nearest one."""
_SHOWN = 6
"""How many places are named if a text occurs several times."""
_MOST_LINES = 20_000
"""How many lines are searched for the nearest one."""
_ALIKE = 0.5


@value
class Hunk:
    context: str = ""
    """The line after which the old lines are searched; empty: anywhere."""
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    at_end: bool = False


@value
class FilePatch:
    path: str
    kind: str
    """`add`, `delete` or `update`."""
    text: str = ""
    hunks: tuple[Hunk, ...] = ()
    move_to: str = ""


@value
class BadEdit:
    """An edit that cannot be made."""

    words: str
    """Why, with lines of the file if that helps, for the model."""


def read_patch(text: str) -> tuple[FilePatch, ...] | BadEdit:
    lines = text.strip().splitlines()
    if not lines or lines[0].strip() != BEGIN or lines[-1].strip() != END:
        return BadEdit(f"This is no patch. {_FORM}")
    patches: list[FilePatch] = []
    for number, line in enumerate(lines[1:-1], 2):
        if line.startswith((_ADD, _DELETE, _UPDATE)):
            kind = "add" if line.startswith(_ADD) else "delete" if line.startswith(_DELETE) else "update"
            patches.append(FilePatch(line.partition(": ")[2].strip(), kind))
        elif not patches:
            return BadEdit(f"Line {number} of the patch belongs to no file: {line!r}. {_FORM}")
        else:
            taken = _take_line(patches[-1], line)
            if taken is None:
                return BadEdit(
                    f"Line {number} of the patch cannot be read: {line!r}. {_LINES[patches[-1].kind]}"
                )
            patches[-1] = taken
    if not patches:
        return BadEdit(f"The patch is empty. {_FORM}")
    return tuple(patches)


def _take_line(patch: FilePatch, line: str) -> FilePatch | None:
    if patch.kind == "add":
        return replace(patch, text=f"{patch.text}{line[1:]}\n") if line.startswith("+") else None
    if patch.kind == "delete":
        return None if line.strip() else patch
    if line.startswith(_MOVE) and not patch.hunks:
        return replace(patch, move_to=line.removeprefix(_MOVE).strip())
    if line.startswith("@@"):
        return replace(patch, hunks=(*patch.hunks, Hunk(context=line.removeprefix("@@").strip())))
    *before, last = patch.hunks or (Hunk(),)
    if line == _END_OF_FILE:
        return replace(patch, hunks=(*before, replace(last, at_end=True)))
    sign, rest = (line[0], line[1:]) if line else (" ", "")
    if sign not in " +-":
        return None
    old = (*last.old, rest) if sign in " -" else last.old
    new = (*last.new, rest) if sign in " +" else last.new
    return replace(patch, hunks=(*before, replace(last, old=old, new=new)))


def apply_patch(
    patches: Sequence[FilePatch], texts: Mapping[str, str | None]
) -> dict[str, str | None] | BadEdit:
    """New texts by path; None: deleted. `texts`: the present texts by path; None: no file."""
    changed: dict[str, str | None] = {}
    for patch in patches:
        before = changed.get(patch.path, texts.get(patch.path))
        if patch.kind == "add":
            if before is not None:
                return BadEdit(f"{patch.path} exists already: update it instead.")
            changed[patch.path] = patch.text
            continue
        if before is None:
            return BadEdit(f"There is no file {patch.path} to {patch.kind}.")
        if patch.kind == "delete":
            changed[patch.path] = None
            continue
        after = _update(patch, before)
        if isinstance(after, BadEdit):
            return after
        target = patch.move_to or patch.path
        changed |= {patch.path: None, target: after} if target != patch.path else {target: after}
    return changed


def _update(patch: FilePatch, before: str) -> str | BadEdit:
    if not patch.hunks and not patch.move_to:
        return BadEdit(f"The update of {patch.path} changes nothing.")
    end = "\r\n" if "\r\n" in before else "\n"
    lines = before.split(end)
    at = 0
    for number, hunk in enumerate(patch.hunks, 1):
        where = f"part {number} of the update of {patch.path}"
        start = at
        if hunk.context:
            found = next((i for i in range(at, len(lines)) if lines[i].strip() == hunk.context), None)
            if found is None:
                return BadEdit(
                    f"0 matches in {where}: no line {hunk.context!r} after line {at}. Read the file."
                )
            start = found + 1
        place = _find(lines, hunk, start, where, ambiguous=not hunk.context)
        if isinstance(place, BadEdit):
            return place
        lines[place : place + len(hunk.old)] = hunk.new
        at = place + len(hunk.new)
    return end.join(lines)


def _find(lines: Sequence[str], hunk: Hunk, start: int, where: str, *, ambiguous: bool) -> int | BadEdit:
    if not hunk.old:
        # New lines go after their context, or to the end: before the empty string behind the last line end.
        return start if hunk.context else len(lines) - (lines[-1:] == [""])
    size = len(hunk.old)
    places = [at for at in range(start, len(lines) - size + 1) if tuple(lines[at : at + size]) == hunk.old]
    if hunk.at_end:
        places = [at for at in places if not "".join(lines[at + size :]).strip()]
    if not places:
        return BadEdit(f"0 matches in {where}: these lines do not stand there:\n" + "\n".join(hunk.old[:6]))
    if ambiguous and len(places) > 1:
        named = ", ".join(str(at + 1) for at in places[:6])
        return BadEdit(
            f"{len(places)} matches in {where}, at lines {named}: quote more, or `@@ LINE` before it."
        )
    return places[0]


def replace_once(path: str, text: str, search: str, replacement: str) -> str | BadEdit:
    """Exact, since the gate has to know the bytes; only line ends are adapted to the file."""
    if not search:
        return BadEdit("search is empty: quote the lines to be replaced; create_file makes a new file.")
    if "\r\n" in text and "\r\n" not in search:
        search, replacement = search.replace("\n", "\r\n"), replacement.replace("\n", "\r\n")
    count = text.count(search)
    if count == 1:
        if search == replacement:
            return BadEdit("search and replace are the same: nothing would change.")
        return text.replace(search, replacement, 1)
    if count:
        return BadEdit(_describe_several(path, text, search, count))
    return BadEdit(_describe_nothing(path, text, search))


def _describe_several(path: str, text: str, search: str, count: int) -> str:
    starts: list[int] = []
    at = text.find(search)
    while at >= 0 and len(starts) < _SHOWN:
        starts.append(text.count("\n", 0, at) + 1)
        at = text.find(search, at + 1)
    lines = ", ".join(map(str, starts)) + (", …" if count > _SHOWN else "")
    return (
        f"{count} matches in {path}, at lines {lines}; exactly one is needed. "
        "Quote more lines around the one that you mean."
    )


def _describe_nothing(path: str, text: str, search: str) -> str:
    if not text.strip():
        return f"0 matches: {path} is empty."
    lines = text.splitlines()
    at = _nearest_line(lines, search)
    if at is None:
        return f"0 matches in {path}, and no line is like it ({len(lines)} lines). Read the file again."
    first, last = max(0, at - _AROUND), min(len(lines), at + _AROUND + len(search.splitlines()))
    shown = number_lines(lines[first:last], first + 1)
    return f"0 matches in {path}. The nearest lines, with their numbers:\n{shown}\nQuote them exactly."


def _nearest_line(lines: Sequence[str], search: str) -> int | None:
    """The line that is most like the first line of the search; among equals, where more lines match."""
    wanted = [line.strip() for line in search.splitlines() if line.strip()]
    if not wanted:
        return None
    stripped = [line.strip() for line in lines[:_MOST_LINES]]
    close = difflib.get_close_matches(wanted[0], {line for line in stripped if line}, 1, _ALIKE)
    if not close:
        return None
    places = [at for at, line in enumerate(stripped) if line == close[0]]
    rest = set(wanted[1:])
    return max(places, key=lambda at: len(rest.intersection(stripped[at + 1 : at + 1 + len(wanted)])))


def number_lines(lines: Sequence[str], first: int) -> str:
    """Numbers lines as `read_file` shows them."""
    width = len(str(first + len(lines)))
    return "\n".join(f"{number:>{width}}\t{line}" for number, line in enumerate(lines, first))
