"""Reads, compares and composes trees in the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import REPAIR, StorageError
from verdigris.core.paths import Change, Entry
from verdigris.storage.git import null_split
from verdigris.storage.snapshots.objects import LARGE, Elsewhere, Objects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from verdigris.storage.git import Git

ABSENT = "000000"
ASK_BY_PATH = 400
"""With more paths than this the whole tree is listed, because the length of a command line is limited."""


RAW = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames")


def changes(git: Git, old: str, new: str) -> tuple[Change, ...]:
    store = Objects(git.git_dir)
    try:
        return _sort_changes(store.changes(store.tree_of(old), store.tree_of(new)))
    except Elsewhere:
        return _raw(git.run("diff-tree", *RAW, old, new))


def staged_changes(git: Git, tree: str) -> tuple[Change, ...]:
    """How the index differs from `tree`; an unmerged path counts as deleted."""
    return _raw(git.run("diff-index", "--cached", *RAW[1:], tree))


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


def diff(git: Git, old: str, new: str, paths: Sequence[str]) -> str:
    """A unified diff for a person to read."""
    output = git.run(
        "diff-tree", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", old, new, "--", *paths
    )
    return output.decode("utf-8", "replace")


def files(git: Git, tree: str) -> tuple[Entry, ...]:
    """`tree` may be a commit."""
    store = Objects(git.git_dir)
    try:
        return tuple(store.files(store.tree_of(tree)))
    except Elsewhere:
        return _parse_entries(git.run("ls-tree", "-r", "-z", "--full-tree", tree))


def entries(git: Git, tree: str, paths: Collection[str]) -> dict[str, Entry]:
    """Those `paths` that are files or links in `tree`."""
    if not paths:
        return {}
    store = Objects(git.git_dir)
    try:
        known = {path: store.entry_at(tree, path) for path in paths}
        return {path: entry for path, entry in known.items() if entry is not None}
    except Elsewhere:
        return _entries(git, tree, paths)


def _entries(git: Git, tree: str, paths: Collection[str]) -> dict[str, Entry]:
    if len(paths) > ASK_BY_PATH:
        wanted = frozenset(paths)
        listed = tuple(entry for entry in files(git, tree) if entry.path in wanted)
    else:
        listed = _parse_entries(git.run("ls-tree", "-z", "--full-tree", tree, "--", *paths))
    return {entry.path: entry for entry in listed}


def read_many(git: Git, tree: str, paths: Iterable[str], *, texts: bool = False) -> dict[str, bytes | None]:
    """`texts`: without files that are too large to be texts."""
    asked = list(dict.fromkeys(paths))
    store = Objects(git.git_dir)
    try:
        return {path: store.blob_at(tree, path) for path in asked}
    except Elsewhere:
        return _read_many(git, tree, _without_large(git, tree, asked) if texts else asked)


def _without_large(git: Git, tree: str, paths: Sequence[str]) -> list[str]:
    plain = [path for path in paths if "\n" not in path and "\r" not in path]
    sizes = dict(zip(plain, _sizes(git, (f"{tree}:{path}" for path in plain)), strict=True))
    return [path for path in paths if (sizes.get(path) or 0) <= LARGE]


def read_committed(git: Git, commit: str, path: str) -> bytes | None:
    """A file of a commit; None if it has none."""
    store = Objects(git.git_dir)
    try:
        return store.blob_at(store.tree_of(commit), path)
    except Elsewhere:
        return _blobs(git, [f"{commit}:{path}"])[0]


def read_blob(git: Git, name: str) -> bytes | None:
    """None if there is no such blob."""
    return blobs(git, [name])[0]


def read_message(git: Git, commit: str) -> str:
    try:
        return os.fsdecode(Objects(git.git_dir).message_of(commit))
    except Elsewhere:
        return os.fsdecode(git.call("log", "-1", "--no-walk", "--format=%B", commit).stdout)


def _read_many(git: Git, tree: str, asked: Sequence[str]) -> dict[str, bytes | None]:
    # A line of the batch cannot hold a line break, so such names are asked for by their blob.
    odd = entries(git, tree, [path for path in asked if "\n" in path or "\r" in path])
    names = {path: f"{tree}:{path}" for path in asked if "\n" not in path and "\r" not in path}
    names |= {path: entry.blob for path, entry in odd.items()}
    found = dict(zip(names, _blobs(git, names.values(), within=tree), strict=True))
    return {path: found.get(path) for path in asked}


def blobs(git: Git, names: Iterable[str]) -> list[bytes | None]:
    """The bytes of each blob; None for a name that is missing or no blob."""
    asked = list(names)
    store = Objects(git.git_dir)
    try:
        return [store.blob(name) for name in asked]
    except Elsewhere:
        return _blobs(git, asked)


def _blobs(git: Git, names: Iterable[str], *, within: str | None = None) -> list[bytes | None]:
    """Reads blobs by one git process; None for a name that is missing or no blob.

    `within`: a tree that must exist. If it were lost, its files would only seem to be missing.
    """
    asked = [os.fsencode(name) for name in names]
    if within:
        asked.insert(0, os.fsencode(within))
    output = git.run("cat-file", "--batch", stdin=b"".join(name + b"\n" for name in asked)) if asked else b""
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


def blob_sizes(git: Git, names: Iterable[str]) -> dict[str, int]:
    """The number of bytes of each blob, without those that are missing."""
    asked = list(names)
    return {name: size for name, size in zip(asked, _sizes(git, asked), strict=True) if size is not None}


def _sizes(git: Git, names: Iterable[str]) -> list[int | None]:
    asked = b"".join(os.fsencode(name) + b"\n" for name in names)
    said = git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).split(b"\n")[:-1] if asked else []
    return [int(line) if line.isdigit() else None for line in said]


def graft(git: Git, base: str, donor: str, paths: Iterable[str]) -> str:
    """The tree that is `base`, except that `paths` are as in `donor`; `git` has an index to write on."""
    wanted = frozenset(paths)
    differing = [change for change in changes(git, base, donor) if change.path in wanted]
    edits = {c.path: None if c.new_mode is None or c.new is None else (c.new_mode, c.new) for c in differing}
    return _edit_tree(git, base, edits)


def compose(git: Git, base: str, contents: Mapping[str, tuple[str, bytes | Path] | None]) -> str:
    """The tree that is `base`, except that each path has this mode and these bytes, or is absent. The bytes
    may be those of a file, which is not read here.
    """
    edits = {
        path: None if content is None else (content[0], store_blob(git, content[1]))
        for path, content in contents.items()
    }
    return _edit_tree(git, base, edits)


def _edit_tree(git: Git, base: str, edits: Mapping[str, tuple[str, str] | None]) -> str:
    if not edits:
        return base
    try:
        return Objects(git.git_dir).write_tree(base, edits)
    except Elsewhere:
        pass
    git.run("read-tree", base)
    absent = ("0", "0" * len(base))
    named = ((path, absent if entry is None else entry) for path, entry in edits.items())
    # Removals first: a new file may be where a folder was.
    lines = sorted(f"{mode} {name}\t{path}\0" for path, (mode, name) in named)
    git.run("update-index", "-z", "--index-info", stdin=os.fsencode("".join(lines)))
    return os.fsdecode(git.run("write-tree")).strip()


def store_blob(git: Git, data: bytes | Path) -> str:
    if isinstance(data, Path):
        return os.fsdecode(git.run("hash-object", "-w", "--no-filters", "--", str(data))).strip()
    try:
        return Objects(git.git_dir).write_blob(data)
    except Elsewhere:
        return os.fsdecode(git.run("hash-object", "-w", "--stdin", "--no-filters", stdin=data)).strip()


def merge_file(
    git: Git, base: bytes | None, ours: bytes | None, theirs: bytes | None, *, yielding: bool
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

    with tempfile.TemporaryDirectory(prefix="merge.", dir=git.git_dir.parent) as folder:
        sides = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for side, data in zip(sides, (ours, base, theirs), strict=True):
            side.write_bytes(data)
        favour = ["--theirs"] if yielding else []
        output = git.call("merge-file", "--stdout", "--quiet", *favour, *map(str, sides))
    return output.stdout if output.code == 0 else None


def _parse_entries(output: bytes) -> tuple[Entry, ...]:
    found = []
    for line in null_split(output):
        about, path = line.split("\t", 1)
        mode, kind, blob = about.split(" ")
        if kind == "blob":
            found.append(Entry(path, mode, blob))
    return tuple(found)
