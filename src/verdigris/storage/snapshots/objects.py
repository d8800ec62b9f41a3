"""Reads loose git objects in this process.

A command reads the store dozens of times, and starting git each time would be most of its work. What is not
found here (it is packed, lent by another store, lost or damaged) is `Elsewhere`: then git is asked.
"""

# Names stay `str`, and may be any bytes:
# ruff: noqa: PTH123

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

from verdigris.core.paths import Change, Entry
from verdigris.storage.log.light import digest

try:
    from _sha1 import sha1  # type: ignore[import-not-found]  # as in log/light.py
except ImportError:
    from hashlib import sha1

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Parts = dict[str, tuple[str, str]]
    """Of a folder, in git's order: mode and name of each."""

_FOLDER, _MODULE = "040000", "160000"
_ALGORITHMS = {40: lambda raw: sha1(raw, usedforsecurity=False).hexdigest(), 64: digest}
"""By how long the names are that they give."""


class Elsewhere(Exception):
    """No loose object of that name and kind can be read here."""


class Objects:
    """For one question, during which a folder is read once."""

    def __init__(self, git_dir: Path) -> None:
        self._folder = f"{_common(os.fspath(git_dir))}/objects"
        self._known: dict[str, Parts] = {}

    def tree_of(self, name: str) -> str:
        """The tree of a commit; that of a tree is itself."""
        kind, data = self._object(name)
        if kind == b"commit" and data.startswith(b"tree "):
            name = data[len(b"tree ") :].partition(b"\n")[0].decode("ascii")
            kind, _ = self._object(name)
        if kind != b"tree":
            raise Elsewhere
        return name

    def blob(self, name: str) -> bytes:
        return self._read(name, b"blob")

    def blob_at(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file, or a link's target; None when `path` is neither in `tree`."""
        entry = self.entry_at(tree, path)
        return None if entry is None else self.blob(entry.blob)

    def entry_at(self, tree: str, path: str) -> Entry | None:
        mode, name = _FOLDER, tree
        for part in path.split("/"):
            if part in {"", ".", ".."}:
                raise Elsewhere
            if mode != _FOLDER:
                return None
            mode, name = self._parts(name).get(part, ("", ""))
        return None if mode in {"", _FOLDER, _MODULE} else Entry(path, mode, name)

    def files(self, tree: str) -> Iterator[Entry]:
        """In git's order; folders may nest deeper than Python calls itself."""
        inside = [("", iter(self._parts(tree).items()))]
        while inside:
            folder, parts = inside[-1]
            for part, (mode, name) in parts:
                if mode == _FOLDER:
                    inside.append((f"{folder}{part}/", iter(self._parts(name).items())))
                    break
                if mode != _MODULE:
                    yield Entry(folder + part, mode, name)
            else:
                inside.pop()

    def changes(self, old: str, new: str) -> Iterator[Change]:
        """What became of the files, in no order; folders that are the same in both trees are not read."""
        pairs: list[tuple[str, str | None, str | None]] = [("", old, new)]
        while pairs:
            folder, *names = pairs.pop()
            before, after = ({} if name is None else self._parts(name) for name in names)
            for part in {**before, **after}:
                was, now = before.get(part), after.get(part)
                if was == now:
                    continue
                pairs.append((f"{folder}{part}/", _folder(was), _folder(now)))
                if _file(was) != _file(now):
                    yield Change(folder + part, *_file(was), *_file(now))

    def _parts(self, tree: str) -> Parts:
        if tree not in self._known:
            self._known[tree] = dict(_parse_tree(self._read(tree, b"tree"), len(tree) // 2))
        return self._known[tree]

    def _read(self, name: str, kind: bytes) -> bytes:
        found, data = self._object(name)
        if found != kind:
            raise Elsewhere
        return data

    def _object(self, name: str) -> tuple[bytes, bytes]:
        """Kind and content, if they are what the name says: an agent can write the user's objects."""
        make = _ALGORITHMS.get(len(name))
        if make is None:
            raise Elsewhere
        try:
            with open(f"{self._folder}/{name[:2]}/{name[2:]}", "rb") as file:
                raw = zlib.decompress(file.read())
        except (OSError, ValueError, zlib.error):
            raise Elsewhere from None
        head, _, data = raw.partition(b"\0")
        if make(raw) != name:
            raise Elsewhere
        return head.partition(b" ")[0], data


def _common(git_dir: str) -> str:
    """The folder that has the objects: a linked worktree's names another."""
    try:
        with open(f"{git_dir}/commondir", "rb") as file:
            return os.path.join(git_dir, os.fsdecode(file.read()).rstrip("\n"))  # noqa: PTH118 - text
    except OSError:
        return git_dir


def _parse_tree(data: bytes, size: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """`mode SPACE part NUL name`, again and again; the name is of `size` bytes."""
    at = 0
    while at < len(data):
        space, end = data.index(b" ", at), data.index(b"\0", at)
        mode = data[at:space].decode("ascii").zfill(6)
        at = end + 1 + size
        yield os.fsdecode(data[space + 1 : end]), (mode, data[end + 1 : at].hex())


def _folder(entry: tuple[str, str] | None) -> str | None:
    return entry[1] if entry and entry[0] == _FOLDER else None


def _file(entry: tuple[str, str] | None) -> tuple[str, str] | tuple[None, None]:
    return entry if entry and entry[0] != _FOLDER else (None, None)
