"""Reads and writes loose git objects in this process.

A command reads the store dozens of times, and starting git each time would take most of its time. For an
object that is not loose (it is packed, lost or damaged), and for what only git can decide, `Elsewhere` is
raised: then the caller asks git.
"""

from __future__ import annotations

import os
import re
import zlib
from functools import cached_property
from typing import IO, TYPE_CHECKING, Self

from verdigris.core.errors import REPAIR, StorageError
from verdigris.core.paths import Change, Entry
from verdigris.storage.git import program
from verdigris.storage.log.light import digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from subprocess import Popen
    from types import TracebackType

    from verdigris.storage.git import Git

    Parts = dict[str, tuple[str, str]]
    """The entries of a folder in git's order: the mode and object name of each."""

try:
    from _sha1 import sha1  # type: ignore[import-not-found]  # as in log/light.py
except ImportError:
    from hashlib import sha1


LARGE = 1 << 24
"""An object with more bytes than this is left to git."""
_FOLDER, MODULE = "040000", "160000"
_FILES = frozenset(("100644", "100755", "120000"))
_NOT_A_NAME = frozenset(("", ".", "..", ".git", ".gitmodules"))
"""Parts of a path, in lower case, that git itself refuses or interprets."""
_FAST = 1
_READ_ONLY = 0o444
_ALGORITHMS = {40: lambda raw: sha1(raw, usedforsecurity=False).hexdigest(), 64: digest}
"""The hash functions, by the length of the names that they give."""


_LENGTHS = {b"sha1": 40, b"sha256": 64}


class Elsewhere(Exception):
    """No loose object of that name and kind can be read here."""


def name_of(kind: bytes, data: bytes, length: int) -> str:
    """The name of an object in a store whose names have this length."""
    name: str = _ALGORITHMS[length](_raw(kind, data))
    return name


def _raw(kind: bytes, data: bytes) -> bytes:
    return b"%s %d\0%s" % (kind, len(data), data)


class Objects:
    """Objects of a git folder; each tree is read once."""

    def __init__(self, git_dir: Path) -> None:
        self._folder = f"{_common(os.fspath(git_dir))}/objects"
        self._lenders: list[str] | None = None
        self._known: dict[str, Parts] = {}

    def tree_of(self, name: str) -> str:
        """The tree of a commit; a tree is its own."""
        kind, data = self._object(name)
        if kind == b"commit" and data.startswith(b"tree "):
            name = data[len(b"tree ") :].partition(b"\n")[0].decode("ascii")
            kind, _ = self._object(name)
        if kind != b"tree":
            raise Elsewhere
        return name

    def message_of(self, commit: str) -> bytes:
        return self._read(commit, b"commit").partition(b"\n\n")[2]

    def blob(self, name: str) -> bytes:
        return self._read(name, b"blob")

    def blob_at(self, tree: str, path: str) -> bytes | None:
        """The bytes of a file, or a link's target; None if `path` is neither in `tree`."""
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
        return None if mode in {"", _FOLDER, MODULE} else Entry(path, mode, name)

    def files(self, tree: str) -> Iterator[Entry]:
        """The files of a tree in git's order."""
        return (entry for entry in self.entries(tree) if entry.mode != MODULE)

    def entries(self, tree: str) -> Iterator[Entry]:
        """The files, links and submodules of a tree in git's order.

        Not recursive: folders may be nested deeper than Python allows calls.
        """
        inside = [("", iter(self._parts(tree).items()))]
        while inside:
            folder, parts = inside[-1]
            for part, (mode, name) in parts:
                if mode == _FOLDER:
                    inside.append((f"{folder}{part}/", iter(self._parts(name).items())))
                    break
                yield Entry(folder + part, mode, name)
            else:
                inside.pop()

    def changes(self, old: str, new: str) -> Iterator[Change]:
        """The changes of files, in no order; folders that are the same in both trees are not read."""
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

    def write_blob(self, data: bytes) -> str:
        """Stores a blob. `Elsewhere` if it is large."""
        if len(data) > LARGE:
            raise Elsewhere
        return self._write(b"blob", data, self._name_length)

    def name_of_blob(self, data: bytes) -> str:
        return name_of(b"blob", data, self._name_length)

    def write_empty_tree(self) -> str:
        return self._write(b"tree", b"", self._name_length)

    @cached_property
    def _name_length(self) -> int:
        """The length of the names in this store."""
        try:
            with open(f"{self._folder}/../config", "rb") as file:
                other = re.search(rb"(?i)objectformat\s*=\s*(\w+)", file.read())
        except OSError:
            raise Elsewhere from None
        algorithm = b"sha1" if other is None else other[1].lower()
        if algorithm not in _LENGTHS:
            raise Elsewhere
        return _LENGTHS[algorithm]

    def write_tree(self, base: str, edits: Mapping[str, tuple[str, str] | None]) -> str:
        """Writes the tree that is `base`, except that each path has this mode and name, or is absent."""
        changed = _by_folder(edits)
        root = changed.pop("")
        for folder in sorted(changed, key=lambda path: path.count("/"), reverse=True):
            parts = self._edit_folder(base, folder, changed[folder])
            name = self._write(b"tree", _render_tree(parts), len(base)) if parts else ""
            above, _, part = folder.rpartition("/")
            beside = changed[above] if above else root
            if part in beside:
                raise Elsewhere
            beside[part] = (_FOLDER, name)
        return self._write(b"tree", _render_tree(self._edit_folder(base, "", root)), len(base))

    def _edit_folder(self, tree: str, folder: str, edits: Mapping[str, tuple[str, str] | None]) -> Parts:
        """Edits one folder. An entry without a name is an empty folder, and is removed.

        Raises Elsewhere if a file becomes a folder: git has the rules for that.
        """
        parts = dict(self._parts_of(tree, folder))
        for part, entry in edits.items():
            old = parts.pop(part, None)
            if old is not None and (_folder(old) is None) != (entry is None or _folder(entry) is None):
                raise Elsewhere
            if entry is not None and entry[1]:
                parts[part] = entry
        return parts

    def _parts_of(self, tree: str, folder: str) -> Parts:
        """The entries of a folder of a tree; none if there is no such folder."""
        name = tree
        for part in folder.split("/") if folder else ():
            entry = self._parts(name).get(part)
            if entry is None:
                return {}
            if entry[0] != _FOLDER:
                raise Elsewhere
            name = entry[1]
        return self._parts(name)

    def _write(self, kind: bytes, data: bytes, length: int) -> str:
        """Writes an object as git does: under another name first, so that nobody reads half of it."""
        raw = _raw(kind, data)
        name: str = _ALGORITHMS[length](raw)
        folder = f"{self._folder}/{name[:2]}"
        path = f"{folder}/{name[2:]}"
        if os.path.exists(path):
            return name
        fresh = f"{folder}/tmp_obj_{os.urandom(8).hex()}"  # noqa: S108 - git removes old files of this name
        try:
            os.makedirs(folder, exist_ok=True)
            with open(fresh, "wb") as file:
                file.write(zlib.compress(raw, _FAST))
            os.chmod(fresh, _READ_ONLY)
            os.replace(fresh, path)
        except OSError:
            raise Elsewhere from None
        return name

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
        raw = _inflate(self._folder, name)
        if raw is None:
            self._lenders = _read_lenders(self._folder) if self._lenders is None else self._lenders
            raw = next(filter(None, (_inflate(folder, name) for folder in self._lenders)), None)
        if raw is None:
            raise Elsewhere
        head, _, data = raw.partition(b"\0")
        if make(raw) != name:  # also if it is too large and only its beginning was read
            raise Elsewhere
        return head.partition(b" ")[0], data


def _common(git_dir: str) -> str:
    """The folder with the objects: the git folder of a linked worktree names another one."""
    try:
        with open(f"{git_dir}/commondir", "rb") as file:
            return os.path.join(git_dir, os.fsdecode(file.read()).rstrip("\n"))
    except OSError:
        return git_dir


def _inflate(objects: str, name: str) -> bytes | None:
    """The content of a loose object; None if there is none. A large or damaged one is left to git."""
    try:
        with open(f"{objects}/{name[:2]}/{name[2:]}", "rb") as file:
            if os.fstat(file.fileno()).st_size > LARGE:
                raise Elsewhere
            return zlib.decompressobj().decompress(file.read(), LARGE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, zlib.error):
        raise Elsewhere from None


def _read_lenders(objects: str) -> list[str]:
    """The folders of other stores from which this one borrows; if those borrow too, git has to read."""
    try:
        with open(f"{objects}/info/alternates", "rb") as file:
            lines = os.fsdecode(file.read()).splitlines()
    except OSError:
        return []
    return [line for line in lines if line.startswith("/")]


def _by_folder(
    edits: Mapping[str, tuple[str, str] | None],
) -> dict[str, dict[str, tuple[str, str] | None]]:
    """Edits of the files in each folder, by their names there; with every folder above one."""
    found: dict[str, dict[str, tuple[str, str] | None]] = {"": {}}
    for path, entry in edits.items():
        parts = path.split("/")
        if not _NOT_A_NAME.isdisjoint(part.lower() for part in parts) or (entry and entry[0] not in _FILES):
            raise Elsewhere
        for count in range(1, len(parts)):
            found.setdefault("/".join(parts[:count]), {})
        found["/".join(parts[:-1])][parts[-1]] = entry
    return found


def _render_tree(parts: Parts) -> bytes:
    """Writes a tree in git's order: a folder is sorted as if its name ended with a slash."""
    named = ((os.fsencode(part), *entry) for part, entry in parts.items())
    ordered = sorted(named, key=lambda one: one[0] + b"/" if one[1] == _FOLDER else one[0])
    return b"".join(
        mode.lstrip("0").encode("ascii") + b" " + part + b"\0" + bytes.fromhex(name)
        for part, mode, name in ordered
    )


def _parse_tree(data: bytes, size: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Reads the entries `mode SPACE part NUL name` of a tree; the name has `size` bytes."""
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


_PIECE = 1 << 20


class BlobReader:
    """Reads blobs: loose and small ones in this process, the others by one git process for all of them."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._store = Objects(git.git_dir)
        self._started: Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._started is not None:
            self._started.kill()
            self._started.communicate()

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a blob; read them to their end before the next blob."""
        try:
            whole = self._store.blob(name)
        except Elsewhere:
            yield from self._ask_git(name)
        else:
            yield whole

    def _ask_git(self, name: str) -> Iterator[bytes]:
        given, said = self._pipes()
        given.write(os.fsencode(name) + b"\n")
        given.flush()
        words = said.readline().split()
        if len(words) != len(("name", "kind", "size")) or words[1] != b"blob":
            raise StorageError(f"the store has lost the blob {name}", hint=REPAIR)
        left = int(words[2])
        while left:
            piece = said.read(min(left, _PIECE))
            if not piece:
                raise StorageError(f"git ended before all of {name} was read", hint=REPAIR)
            left -= len(piece)
            yield piece
        said.read(1)  # the line's end

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._started is None:
            from subprocess import DEVNULL, PIPE, Popen

            git = self._git
            argv = [program(git.environment), f"--git-dir={git.git_dir}", "cat-file", "--batch"]
            self._started = Popen(argv, env=git.environment, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        given, said = self._started.stdin, self._started.stdout
        if given is None or said is None:
            raise StorageError("git has no pipes")
        return given, said
