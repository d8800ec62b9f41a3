"""Reads, compares and composes trees of a git folder: here where objects are loose, else by git."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Self

from verdigris.core.errors import REPAIR, StorageError
from verdigris.core.paths import Change, Entry
from verdigris.storage.git import null_split
from verdigris.storage.snapshots.objects import LARGE, BlobReader, Elsewhere, Objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from verdigris.storage.git import Git

ABSENT = "000000"
ASK_BY_PATH = 400
"""With more paths than this the whole tree is listed, because the length of a command line is limited."""


_PACK = 1 << 25
"""So many bytes go into one pack: they are in memory until then."""
_IMPORT = ("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--depth=0")
RAW = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames")


class Trees:
    """The trees and blobs of a git folder."""

    def __init__(self, git: Git) -> None:
        self._git = git

    @property
    def git(self) -> Git:
        return self._git

    def _with_draft(self) -> AbstractContextManager[Git]:
        """Git with an index to make a tree in."""
        return nullcontext(self.git)

    @property
    def _objects(self) -> Objects:
        return Objects(self.git.git_dir)

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        """What differs between two trees, sorted by path; a rename is a deletion and an addition."""
        store = self._objects
        try:
            return _sort_changes(store.changes(store.tree_of(old), store.tree_of(new)))
        except Elsewhere:
            return _raw(self.git.run("diff-tree", *RAW, old, new))

    def staged_changes(self, tree: str) -> tuple[Change, ...]:
        """How the index differs from `tree`; an unmerged path counts as deleted."""
        return _raw(self.git.run("diff-index", "--cached", *RAW[1:], tree))

    def diff(self, old: str, new: str, paths: Sequence[str]) -> str:
        """A unified diff for a person to read."""
        plain = ("-p", "--no-renames", "--no-ext-diff", "--no-textconv")
        return self.git.run("diff-tree", *plain, old, new, "--", *paths).decode("utf-8", "replace")

    def files(self, tree: str) -> tuple[Entry, ...]:
        """`tree` may be a commit."""
        store = self._objects
        try:
            return tuple(store.files(store.tree_of(tree)))
        except Elsewhere:
            return _parse_entries(self.git.run("ls-tree", "-r", "-z", "--full-tree", tree))

    def entries(self, tree: str, paths: Collection[str]) -> dict[str, Entry]:
        """Those `paths` that are files or links in `tree`."""
        store = self._objects
        try:
            known = {path: store.entry_at(tree, path) for path in paths}
            return {path: entry for path, entry in known.items() if entry is not None}
        except Elsewhere:
            pass
        if len(paths) > ASK_BY_PATH:
            wanted = frozenset(paths)
            listed = tuple(entry for entry in self.files(tree) if entry.path in wanted)
        else:
            listed = _parse_entries(self.git.run("ls-tree", "-z", "--full-tree", tree, "--", *paths))
        return {entry.path: entry for entry in listed}

    def read(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file, or a link's target; None if `path` is neither in `tree`."""
        return self.read_many(tree, [path])[path]

    def read_many(self, tree: str, paths: Iterable[str], *, texts: bool = False) -> dict[str, bytes | None]:
        """`texts`: without files that are too large to be texts."""
        asked = list(dict.fromkeys(paths))
        store = self._objects
        try:
            return {path: store.blob_at(tree, path) for path in asked}
        except Elsewhere:
            asked = self._without_large(tree, asked) if texts else asked
        # A line of the batch cannot hold a line break, so such names are asked for by their blob.
        odd = self.entries(tree, [path for path in asked if "\n" in path or "\r" in path])
        names = {path: f"{tree}:{path}" for path in asked if "\n" not in path and "\r" not in path}
        names |= {path: entry.blob for path, entry in odd.items()}
        texts_by_path = dict(zip(names, self._ask(names.values(), within=tree), strict=True))
        if lost := self.entries(tree, [path for path in names if texts_by_path[path] is None]):
            raise StorageError(f"the store has lost {next(iter(lost))} of a snapshot", hint=REPAIR)
        return {path: texts_by_path.get(path) for path in asked}

    def _without_large(self, tree: str, paths: Sequence[str]) -> list[str]:
        plain = [path for path in paths if "\n" not in path and "\r" not in path]
        sizes = dict(zip(plain, self._sizes(f"{tree}:{path}" for path in plain), strict=True))
        return [path for path in paths if (sizes.get(path) or 0) <= LARGE]

    def read_committed(self, commit: str, path: str) -> bytes | None:
        """A file of a commit; None if it has none."""
        store = self._objects
        try:
            return store.blob_at(store.tree_of(commit), path)
        except Elsewhere:
            return self._ask([f"{commit}:{path}"])[0]

    def read_message(self, commit: str) -> str:
        try:
            return os.fsdecode(self._objects.message_of(commit))
        except Elsewhere:
            return os.fsdecode(self.git.call("log", "-1", "--no-walk", "--format=%B", commit).stdout)

    def blob_bytes(self, blob: str) -> bytes | None:
        return self.blobs([blob])[0]

    def blobs(self, names: Iterable[str]) -> list[bytes | None]:
        """The bytes of each blob; None for a name that is missing or no blob."""
        asked = list(names)
        store = self._objects
        try:
            return [store.blob(name) for name in asked]
        except Elsewhere:
            return self._ask(asked)

    def open_blobs(self) -> BlobReader:
        """Opens a reader of many or large blobs, one after another."""
        return BlobReader(self.git)

    def _ask(self, names: Iterable[str], *, within: str | None = None) -> list[bytes | None]:
        """Reads blobs by one git process; None for a name that is missing or no blob.

        `within`: a tree that must exist. If it were lost, its files would only seem to be missing.
        """
        asked = [os.fsencode(name) for name in names]
        if within:
            asked.insert(0, os.fsencode(within))
        given = b"".join(name + b"\n" for name in asked)
        output = self.git.run("cat-file", "--batch", stdin=given) if asked else b""
        if within and output.startswith(asked[0] + b" missing\n"):
            raise StorageError(f"the snapshot {within} is not in the store", hint=REPAIR)
        found: list[bytes | None] = []
        at = 0
        for name in asked:
            missing = name + b" missing\n"
            if output.startswith(missing, at):
                found.append(None)
                at += len(missing)
                continue
            end = output.index(b"\n", at)
            _, kind, size = output[at:end].split(b" ")
            start, at = end + 1, end + 2 + int(size)
            found.append(output[start : at - 1] if kind == b"blob" else None)
        return found[1:] if within else found

    def blob_sizes(self, names: Iterable[str]) -> dict[str, int]:
        """The number of bytes of each blob, without those that are missing."""
        asked = list(names)
        sizes = zip(asked, self._sizes(asked), strict=True)
        return {name: size for name, size in sizes if size is not None}

    def _sizes(self, names: Iterable[str]) -> list[int | None]:
        asked = b"".join(os.fsencode(name) + b"\n" for name in names)
        output = self.git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked) if asked else b""
        return [int(line) if line.isdigit() else None for line in output.split(b"\n")[:-1]]

    def graft(self, base: str, donor: str, paths: Iterable[str]) -> str:
        """The tree that is `base`, except that `paths` are as in `donor`."""
        wanted = frozenset(paths)
        differing = [change for change in self.changes(base, donor) if change.path in wanted]
        return self.edit(
            base,
            {c.path: None if c.new_mode is None or c.new is None else (c.new_mode, c.new) for c in differing},
        )

    def compose(self, base: str, contents: Mapping[str, tuple[str, bytes | Path] | None]) -> str:
        """The tree that is `base`, except that each path has this mode and these bytes, or is absent. The
        bytes may be those of a file, which is not read here.
        """
        edits = {
            path: None if content is None else (content[0], self.blob(content[1]))
            for path, content in contents.items()
        }
        return self.edit(base, edits)

    def edit(self, base: str, edits: Mapping[str, tuple[str, str] | None]) -> str:
        """The tree that is `base`, except that each path has this mode and name, or is absent."""
        if not edits:
            return base
        try:
            return self._objects.write_tree(base, edits)
        except Elsewhere:
            pass
        absent = ("0", "0" * len(base))
        named = ((path, absent if entry is None else entry) for path, entry in edits.items())
        # Removals first: a new file may be where a folder was.
        lines = sorted(f"{mode} {name}\t{path}\0" for path, (mode, name) in named)
        with self._with_draft() as git:
            git.run("read-tree", base)
            git.run("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))
            return os.fsdecode(git.run("write-tree")).strip()

    def empty(self) -> str:
        """Stores the tree without entries."""
        try:
            return self._objects.write_empty_tree()
        except Elsewhere:
            return os.fsdecode(self.git.run("mktree")).strip()

    def blob(self, data: bytes | Path) -> str:
        """Stores the bytes, or those of a file; the name of the blob."""
        git = self.git
        if isinstance(data, Path):
            return os.fsdecode(git.run("hash-object", "-w", "--no-filters", "--", str(data))).strip()
        try:
            return self._objects.write_blob(data)
        except Elsewhere:
            return os.fsdecode(git.run("hash-object", "-w", "--stdin", "--no-filters", stdin=data)).strip()

    def merge_path(
        self, base: str, ours: str, theirs: str, path: str, *, yielding: bool = False
    ) -> bytes | None:
        """The three-way merge of `path` in three trees, as `merge_bytes`."""
        sides = (self.read(tree, path) for tree in (base, ours, theirs))
        return self.merge_bytes(*sides, yielding=yielding)

    def merge_bytes(
        self, base: bytes | None, ours: bytes | None, theirs: bytes | None, *, yielding: bool = False
    ) -> bytes | None:
        """The three-way merge of one file's content; None if it conflicts or ends in a deletion.

        `yielding`: in a conflict, theirs is taken.
        """
        if theirs in {ours, base}:
            return ours
        if base == ours:
            return theirs
        if base is None or ours is None or theirs is None:
            return None if base is not None or ours is None or not yielding else theirs
        import tempfile

        with tempfile.TemporaryDirectory(prefix="merge.", dir=self.git.git_dir.parent) as folder:
            sides = [Path(folder, name) for name in ("ours", "base", "theirs")]
            for side, data in zip(sides, (ours, base, theirs), strict=True):
                side.write_bytes(data)
            favour = ["--theirs"] if yielding else []
            output = self.git.call("merge-file", "--stdout", "--quiet", *favour, *map(str, sides))
        return output.stdout if output.code == 0 else None


class BlobWriter:
    """Stores blobs one after another; `packed`: many of them, which would take much room as a file each."""

    def __init__(self, store: Trees, *, packed: bool) -> None:
        self._store = store
        self._packed = packed
        self._objects = Objects(store.git.git_dir)
        self._waiting: list[bytes] = []
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write_pack()

    def add(self, data: bytes | Path) -> str:
        """The name of the blob with these bytes, or with those of a file."""
        if not self._packed or isinstance(data, Path):
            return self._store.blob(data)
        self._waiting += (b"blob\ndata %d\n" % len(data), data, b"\n")
        self._size += len(data)
        if self._size > _PACK:
            self._write_pack()
        return self._objects.name_of_blob(data)

    def _write_pack(self) -> None:
        if self._waiting:
            stream = b"".join(self._waiting)
            self._store.git.run(*_IMPORT, stdin=stream)
        self._waiting, self._size = [], 0


def _raw(output: bytes) -> tuple[Change, ...]:
    fields = null_split(output)
    found = []
    for raw, path in zip(fields[::2], fields[1::2], strict=True):
        old_mode, new_mode, old_blob, new_blob, _ = raw.removeprefix(":").split(" ")
        before = (None, None) if old_mode == ABSENT else (old_mode, old_blob)
        after = (None, None) if new_mode == ABSENT else (new_mode, new_blob)
        found.append(Change(path, *before, *after))
    return _sort_changes(found)


def _sort_changes(found: Iterable[Change]) -> tuple[Change, ...]:
    return tuple(sorted(found, key=lambda change: change.path))


def _parse_entries(output: bytes) -> tuple[Entry, ...]:
    found = []
    for line in null_split(output):
        about, path = line.split("\t", 1)
        mode, kind, blob = about.split(" ")
        if kind == "blob":
            found.append(Entry(path, mode, blob))
    return tuple(found)
