"""The project told so that each telling begins as the one before: its start, then commit by commit.

A provider's cache holds the beginning of a prompt. So nothing that was told is ever told differently: a file
that changed is told again, further down. Where the budget is used up the telling begins anew, once, from the
tree as it stands; where that happens follows from the commits alone, so a resumed run tells the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import TYPE_CHECKING

from verdigris.agents.counting import estimate
from verdigris.agents.roles.selection import by_weight, imports_of
from verdigris.agents.roles.showable import worth_telling
from verdigris.core.pathclass import PathClass
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from verdigris.agents.roles.material import Commit, Material, Tree

_PART = 0.4
"""Of the budget, for a beginning or for one commit: what is left is room to grow."""
_LEAST = 120
"""Tokens of a file that are worth telling."""
_HASH = re.compile(r"^TDD-Oracle:.*\n?", re.MULTILINE)
"""Says nothing to a model, in many tokens."""


@value
class Told:
    text: str
    complete: frozenset[str]
    """Files whose last telling is whole and holds."""
    start: int = 0
    """The commit from which the telling begins."""


def tell(material: Material, room: int) -> Told:
    """`room`: tokens that it may take."""
    part = int(room * _PART)
    trees = material.trees
    told = _opened(material, trees[0], (), part, 0)
    used = estimate(told.text)
    for number, commit in enumerate(material.commits, 1):
        before, tree = trees[number - 1], trees[number]
        longer = _grown(material, told, number, trees, part)
        added = estimate(longer.text[len(told.text) :])
        if used + added > room:
            opened = _opened(material, tree, sorted(commit.paths), part, number)
            record = _recorded(commit, number, before, tree, part)
            longer = Told("\n\n".join((opened.text, *record)), opened.complete, number)
            added, used = estimate(longer.text), 0
        told, used = longer, used + added
    return told


# -- a beginning ------------------------------------------------------------------------------


def _opened(material: Material, tree: Tree, named: Iterable[str], room: int, start: int) -> Told:
    listing = _listing(tree, room // 4)
    texts = _Texts(room - estimate(listing))
    for path in by_weight(tree, material.classify, named):
        if texts.room < _LEAST:
            break
        if path != material.kata_path:
            texts.add(path, tree[path] or "")
    parts = ("# The project", listing, *(texts.told[path] for path in sorted(texts.told)))
    return Told("\n\n".join(parts), frozenset(texts.complete), start)


def _listing(tree: Tree, room: int) -> str:
    if not tree:
        return "There is no file yet."
    return f"Files ({len(tree)}):\n{clipped(chr(10).join(sorted(tree)), room)}"


# -- a commit ---------------------------------------------------------------------------------


def _grown(material: Material, told: Told, number: int, trees: Sequence[Tree], room: int) -> Told:
    commit, before, tree = material.commits[number - 1], trees[number - 1], trees[number]
    record = _recorded(commit, number, before, tree, room // 2)
    texts = _Texts(room - sum(map(estimate, record)))
    changed = (*_changed(commit, tree), *_newly_imported(material, told, commit, tree))
    worth = [p for p in changed if worth_telling(p, tree[p]) and p != material.kata_path]
    for path in worth:
        if texts.room >= _LEAST:
            texts.add(path, tree[path] or "")
    left = len(worth) - len(texts.told)
    more = [f"({left} more of these files are too long to be told here.)"] if left else []
    complete = (told.complete - commit.paths) | texts.complete
    return Told("\n\n".join((told.text, *record, *texts.told.values(), *more)), complete, told.start)


def _recorded(commit: Commit, number: int, before: Tree, tree: Tree, room: int) -> list[str]:
    """What it says of itself, and what became of each path."""
    message = fenced(clipped(_HASH.sub("", commit.message).strip(), room // 3))
    return [f"# Commit {number}", message, *_diffs(commit, before, tree, room // 3)]


def _changed(commit: Commit, tree: Tree) -> list[str]:
    return sorted(path for path in commit.texts if tree.get(path) is not None)


def _newly_imported(material: Material, told: Told, commit: Commit, tree: Tree) -> list[str]:
    tests = [p for p in _changed(commit, tree) if material.classify(p) is PathClass.TEST]
    known = told.complete | commit.paths
    return [p for p in imports_of(tests, tree) if p not in known and tree[p] is not None]


def _diffs(commit: Commit, before: Tree, tree: Tree, room: int) -> list[str]:
    """What became of each path: a difference for texts that were there, words for the others."""
    origins = {before[path]: path for path in commit.gone if before.get(path)}
    found = []
    words = []
    for path in sorted(commit.paths):
        old, new = before.get(path), tree.get(path)
        if path in commit.gone:
            words += [f"deleted: {path}"] if path in before else []
        elif path not in tree:
            continue
        elif path not in before:
            words.append(f"moved: {origins[new]} → {path}" if new and new in origins else f"new: {path}")
        elif old is None or new is None or not worth_telling(path, new):
            words.append(f"changed: {path} (not told)")
        else:
            found.append("".join(_difference(path, old, new)))
    diff = fenced(clipped("".join(found).rstrip("\n"), room), "diff") if found else ""
    return [part for part in (clipped("\n".join(words), room), diff) if part]


def _difference(path: str, old: str, new: str) -> Iterable[str]:
    lines = unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


# -- texts ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Texts:
    """Files as they are told, as long as there is room."""

    room: int
    told: dict[str, str] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)

    def add(self, path: str, text: str) -> None:
        shown = shown_file(path, text, self.room)
        self.room -= estimate(shown)
        self.told[path] = shown
        if shown == shown_file(path, text):
            self.complete.add(path)


def shown_file(path: str, text: str, room: int | None = None) -> str:
    """With its name; cut, and marked as cut, where it takes more than `room` tokens."""
    kept = text if room is None else clipped(text, room)
    note = (
        "" if kept == text else f" (only the first {kept.count(chr(10))} of {len(text.splitlines())} lines)"
    )
    return f"## {path}{note}\n{fenced(kept)}"


def clipped(text: str, room: int) -> str:
    """Whole lines from the start; the last line then says that there is more."""
    if estimate(text) <= room:
        return text
    kept, used = [], 0
    for line in text.splitlines(keepends=True):
        used += estimate(line)
        if used > room:
            break
        kept.append(line)
    return f"{''.join(kept)}… (cut here)"


def fenced(text: str, language: str = "") -> str:
    """Between fences that do not occur in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"
