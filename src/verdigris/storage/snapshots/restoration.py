"""Restores paths of the worktree from a tree, and keeps the bytes that were there; safe to kill."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verdigris.core.errors import REPAIR, StorageError, UserError
from verdigris.core.paths import LINK, Entry
from verdigris.core.value import field, mutable, value
from verdigris.sandbox.notes import recall, replace_file
from verdigris.storage.snapshots import disk
from verdigris.storage.snapshots.objects import name_of
from verdigris.storage.snapshots.trees import Trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from verdigris.storage.git import Git


@value
class Displaced:
    """What was at `path` although nobody expected or wanted it there."""

    path: str
    blob: str
    mode: str


def lay(git: Git, notes: Path, tree: str, paths: Iterable[str], *, expect: str) -> tuple[Displaced, ...]:
    """See Workspace.lay; `notes` is the file that remembers an unfinished call."""
    asked = sorted(set(paths), reverse=True)
    for path in asked:
        _refuse_outside(path)
    job = _LayJob(Trees(git), os.open(git.root, disk.FOLDER), asked, tree, expect)
    try:
        job.resume(notes)
        job.survey()
        job.keep_displaced()
        job.note(notes, done=False)
        job.carry_out()
        job.note(notes, done=True)
    finally:
        os.close(job.top)
    return tuple(sorted(job.displaced, key=lambda displaced: displaced.path))


@mutable
class _LayJob:
    """One call of `lay`."""

    store: Trees
    top: int
    asked: list[str]
    """The deepest paths first, so that a folder is empty when its turn comes."""
    tree: str
    expect: str
    resumed: bool = False
    displaced: set[Displaced] = field(default_factory=set)
    wanted: dict[str, Entry] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    found: dict[str, disk.FileOnDisk] = field(default_factory=dict)
    obstacles: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return hashlib.sha256(json.dumps([self.tree, self.expect, self.asked]).encode()).hexdigest()

    def resume(self, notes: Path) -> None:
        """Takes over what an earlier call for the same paths has noted."""
        noted = recall(notes)
        if noted.get("key") == self.key:
            self.resumed = not noted["done"]
            self.displaced = {Displaced(*fields) for fields in noted["displaced"]}

    def survey(self) -> None:
        self.wanted = self.store.entries(self.tree, self.asked)
        self.obstacles = sorted(self._obstacles(), reverse=True)
        for path in (*self.asked, *self.obstacles):
            with _errors_with_path("read", path):
                found = disk.look(self.top, path)
            if found:
                self.found[path] = found
        different = [entry for path, entry in self.wanted.items() if not self._is_as_wanted(path)]
        for entry, data in zip(different, self.store.blobs(e.blob for e in different), strict=True):
            if data is None:
                raise StorageError(f"the store has lost {entry.path!r} of {self.tree}", hint=REPAIR)
            self.contents[entry.path] = data

    def keep_displaced(self) -> None:
        believed = self.store.entries(self.expect, [*self.found])
        for path, found in self.found.items():
            if not self._is_undisturbed(path, found, believed.get(path)):
                blob = self.store.blob(found.data)
                self.displaced.add(Displaced(path, blob, found.mode))

    def note(self, notes: Path, *, done: bool) -> None:
        listed = [[d.path, d.blob, d.mode] for d in self.displaced]
        replace_file(notes, json.dumps({"key": self.key, "done": done, "displaced": listed}).encode())

    def carry_out(self) -> None:
        gone = [*self.obstacles, *(path for path in self.asked if path not in self.wanted)]
        for path in gone:
            with _errors_with_path("delete", path):
                disk.delete(self.top, path)
        for path in gone:
            disk.prune(self.top, path)
        for path, data in self.contents.items():
            entry = self.wanted[path]
            found = self.found.get(path)
            with _errors_with_path("write", path):
                disk.delete_folders(self.top, path)
                if found and found.data == data and LINK not in {found.mode, entry.mode}:
                    disk.set_executable(self.top, path, mode=entry.mode)
                else:
                    disk.write(self.top, path, entry.mode, data)

    def _obstacles(self) -> set[str]:
        """Paths that are in the way of a wanted path, and that the call did not name."""
        found: set[str] = set()
        for path in self.wanted:
            with _errors_with_path("read", path):
                found.update(disk.below(self.top, path))
                above = disk.find_blocker(self.top, path)
            if above:
                found.add(above)
        return found.difference(self.asked)

    def _is_as_wanted(self, path: str) -> bool:
        found, entry = self.found.get(path), self.wanted[path]
        return found is not None and (found.mode, self._digest(found.data)) == (entry.mode, entry.blob)

    def _is_undisturbed(self, path: str, found: disk.FileOnDisk, believed: Entry | None) -> bool:
        digest = self._digest(found.data)
        known = [entry for entry in (self.wanted.get(path), believed) if entry]
        if any((entry.mode, entry.blob) == (found.mode, digest) for entry in known):
            return True
        if not self.resumed:
            return False
        cut_short = path in self.contents and self.contents[path].startswith(found.data)
        # Mode and bytes are written in two steps. A kill may leave one of them unchanged: the bytes decide.
        told = {displaced.blob for displaced in self.displaced if displaced.path == path}
        return cut_short or digest in told or any(entry.blob == digest for entry in known)

    def _digest(self, data: bytes) -> str:
        return name_of(b"blob", data, len(self.tree))


def _refuse_outside(path: str) -> None:
    parts = path.split("/")
    if "\0" in path or {"", ".", ".."}.intersection(parts) or ".git" in (part.lower() for part in parts):
        raise UserError(
            f"{path!r} is no path in the worktree", hint="name it relative to the worktree's root"
        )


@contextmanager
def _errors_with_path(verb: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot {verb} {path!r}: {error.strerror}",
            hint="make it and its folder readable and writable, then run the same command again",
        ) from error


def list_displaced(displaced: Sequence[Displaced]) -> tuple[str, ...]:
    """Lists displaced files as events record them: path and blob."""
    return tuple(f"{each.path} {each.blob}" for each in displaced)
