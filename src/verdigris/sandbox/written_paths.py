"""Reports the protected paths that a run tried to change, from what it wrote into its overlay."""

from __future__ import annotations

import os
import stat

from verdigris.core.paths import PathClass
from verdigris.languages.folders import walk_tree
from verdigris.sandbox.folders import open_anyway

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.sandbox.confinement import Confinement

_KERNELS_OWN = ".git/tdd/"
_SWITCHES_OF_GIT = (_KERNELS_OWN, ".git/hooks/")
"""The parts of `.git` that count: in the others even reading commands write, such as `git status`."""
_CACHES = frozenset({"__pycache__", ".hypothesis", ".pytest_cache"})
_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


def report(confinement: Confinement, classify: Callable[[str], PathClass]) -> tuple[str, ...]:
    """The protected paths, relative to the root and sorted, that the run wrote or deleted.

    Unchanged files that were opened for writing do not count, nor do caches. Files in a decoy are listed
    under the kernel's own folder.
    """
    changed = set(_changed_paths(confinement))
    for path in confinement.removed:
        changed.difference_update(_missing_files(confinement, path))
    counting = {path for path in changed if _counts(path, classify)}
    for decoy, _ in confinement.decoys:
        counting.update(_KERNELS_OWN + file for file in _list_files(decoy))
    return tuple(sorted(counting))


def _counts(path: str, classify: Callable[[str], PathClass]) -> bool:
    if path.startswith(".git/"):
        return path.startswith(_SWITCHES_OF_GIT)
    parts = path.split("/")
    name = parts[-1]
    if name.endswith(".pyc") or name == ".coverage" or name.startswith(".coverage."):
        return False
    return not _CACHES.intersection(parts) and classify(path) is not PathClass.OTHER


def _list_files(folder: str) -> Iterator[str]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name in _names(folder, prefix):
            path = prefix + name
            if _is_folder(f"{folder}/{path}"):
                waiting.append(f"{path}/")
            else:
                yield path


def _changed_paths(confinement: Confinement) -> Iterator[str]:
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        for name in _names(confinement.upper, prefix):
            path = prefix + name
            if _is_folder(f"{confinement.upper}/{path}"):
                waiting.append(f"{path}/")
            yield from _compare_path(confinement, path)


def _compare_path(confinement: Confinement, path: str) -> Iterator[str]:
    written, below = f"{confinement.upper}/{path}", _place_before(confinement, path)
    if _is_folder(written):
        if _is_opaque(written) or not _is_folder(below):
            yield from _missing_files(confinement, path)
    elif _is_whiteout(written) or _is_folder(below):
        yield from _missing_files(confinement, path)
        if not _is_whiteout(written):
            yield path
    elif not _is_same(written, below):
        yield path


def _names(upper: str, prefix: str) -> list[str]:
    folder = open_anyway(f"{upper}/{prefix}")
    try:
        return os.listdir(folder)
    finally:
        os.close(folder)


def _place_before(confinement: Confinement, path: str) -> str:
    """The path of the file that the run found before it wrote there."""
    found = (f"{layer}/{path}" for layer in confinement.laid)
    return next((name for name in found if os.path.lexists(name)), f"{confinement.root}/{path}")


def _missing_files(confinement: Confinement, path: str) -> Iterator[str]:
    """The files at or below a path that the run found and removed."""
    for layer in (*confinement.laid, confinement.root):
        for file in _files(layer, path):
            written = f"{confinement.upper}/{file}"
            if not os.path.lexists(written) or _is_folder(written) or _is_whiteout(written):
                yield file


def _files(layer: str, path: str) -> Iterator[str]:
    if not _is_folder(f"{layer}/{path}"):
        if os.path.lexists(f"{layer}/{path}"):
            yield path
        return
    for folder, _, files in walk_tree(f"{layer}/{path}"):
        for name in files:
            yield f"{folder}/{name}"[len(layer) + 1 :]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_whiteout(path: str) -> bool:
    """Whether a path is an overlay's mark for a deleted file."""
    status = os.lstat(path)
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(folder: str) -> bool:
    """Whether a folder in the overlay hides everything that the folder below it contains."""
    return bool(set(_OPAQUE) & set(os.listxattr(folder, follow_symlinks=False)))


def _is_same(written: str, below: str) -> bool:
    import filecmp

    try:
        new, old = os.lstat(written), os.lstat(below)
        if new.st_mode != old.st_mode:
            return False
        if stat.S_ISLNK(new.st_mode):
            return os.readlink(written) == os.readlink(below)
        return stat.S_ISREG(new.st_mode) and filecmp.cmp(written, below, shallow=False)
    except OSError:
        return False
