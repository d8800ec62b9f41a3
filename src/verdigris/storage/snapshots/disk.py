"""Reads and writes single paths of the worktree, never through a link."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from verdigris.core.paths import EXECUTABLE, FILE, LINK
from verdigris.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@value
class FileOnDisk:
    """A regular file or a link, as it lies in the worktree."""

    mode: str
    data: bytes


class Blocked(Exception):
    """`path`, which is above the path that was asked for, is no folder."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@contextmanager
def parent(top: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Opens the folder that contains `path`, from the descriptor `top`, without following links."""
    *folders, name = path.split("/")
    at = os.dup(top)
    try:
        for depth, folder in enumerate(folders, start=1):
            try:
                below = _enter(at, folder, make=make)
            except NotADirectoryError as error:
                raise Blocked("/".join(folders[:depth])) from error
            os.close(at)
            at = below
        yield at, name
    finally:
        os.close(at)


def _enter(at: int, folder: str, *, make: bool) -> int:
    """Opens a folder; raises NotADirectoryError for anything else, also for a link."""
    try:
        return os.open(folder, FOLDER, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(folder, dir_fd=at)
        return os.open(folder, FOLDER, dir_fd=at)
    except OSError as error:
        if not _is_folder(at, folder):
            raise NotADirectoryError from error
        raise


def look(top: int, path: str) -> FileOnDisk | None:
    """The file or link at `path`; None if there is neither."""
    try:
        with parent(top, path) as (at, name):
            state = os.lstat(name, dir_fd=at)
            if stat.S_ISLNK(state.st_mode):
                return FileOnDisk(LINK, os.fsencode(os.readlink(name, dir_fd=at)))
            if not stat.S_ISREG(state.st_mode):
                return None
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            with os.fdopen(descriptor, "rb") as file:
                return FileOnDisk(EXECUTABLE if state.st_mode & stat.S_IXUSR else FILE, file.read())
    except (FileNotFoundError, Blocked):
        return None


def find_blocker(top: int, path: str) -> str | None:
    """The file or link that is where a folder above `path` has to be."""
    try:
        with parent(top, path):
            return None
    except FileNotFoundError:
        return None
    except Blocked as blocked:
        return blocked.path


def below(top: int, path: str) -> list[str]:
    """The files and links below the folder `path`; none if it is no folder."""
    return [inner for _, names in _walk(top, path) for inner in names]


def _walk(top: int, path: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder from `path` down with its files and links, all as paths from the top.

    It has only one descriptor open at a time, at any depth.
    """
    waiting = [path]
    while waiting:
        here = waiting.pop()
        try:
            with parent(top, f"{here}/") as (at, _):
                names = os.listdir(at)
                folders = {name for name in names if _is_folder(at, name)}
        except (FileNotFoundError, Blocked):
            continue
        waiting += [f"{here}/{name}" for name in folders]
        yield here, [f"{here}/{name}" for name in names if name not in folders]


def write(top: int, path: str, mode: str, data: bytes) -> None:
    """Makes `path` a file or link with these bytes; a file keeps its inode and its other permission bits."""
    with parent(top, path, make=True) as (at, name):
        if mode == LINK:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=at)
            os.symlink(os.fsdecode(data), name, dir_fd=at)
            return
        if not _is_file(at, name):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=at)
        descriptor = _open_to_write(at, name)
        try:
            _set_executable(descriptor, executable=mode == EXECUTABLE)
            # Emptied first, so that a write that is cut short leaves only a beginning of the new bytes.
            os.ftruncate(descriptor, 0)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        finally:
            os.close(descriptor)


def set_executable(top: int, path: str, *, mode: str) -> None:
    with parent(top, path) as (at, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        try:
            _set_executable(descriptor, executable=mode == EXECUTABLE)
        finally:
            os.close(descriptor)


def delete(top: int, path: str) -> None:
    """Removes the file or link at `path`."""
    with suppress(FileNotFoundError, Blocked), parent(top, path) as (at, name):
        if not _is_folder(at, name):
            os.unlink(name, dir_fd=at)


def delete_folders(top: int, path: str) -> None:
    """Removes the folder `path` and the empty folders in it."""
    for folder in reversed([here for here, _ in _walk(top, path)]):
        with suppress(FileNotFoundError, Blocked), parent(top, folder) as (at, name):
            os.rmdir(name, dir_fd=at)


def prune(top: int, path: str) -> None:
    """Removes the folders above `path` that are empty now."""
    folder = path.rpartition("/")[0]
    while folder:
        try:
            with parent(top, folder) as (at, name):
                os.rmdir(name, dir_fd=at)
        except FileNotFoundError:
            pass
        except (OSError, Blocked):
            return
        folder = folder.rpartition("/")[0]


def _open_to_write(at: int, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, 0o666, dir_fd=at)
    except PermissionError:
        mode = stat.S_IMODE(os.lstat(name, dir_fd=at).st_mode)
        if mode & stat.S_IWUSR:
            raise
        os.chmod(name, mode | stat.S_IWUSR, dir_fd=at)
        descriptor = os.open(name, flags, dir_fd=at)
        os.fchmod(descriptor, mode)
        return descriptor


def _set_executable(descriptor: int, *, executable: bool) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if bool(mode & stat.S_IXUSR) != executable:
        readable = mode & 0o444
        os.fchmod(descriptor, mode | readable >> 2 if executable else mode & ~0o111)


def _is_file(at: int, name: str) -> bool:
    return _has_type(at, name, stat.S_IFREG)


def _is_folder(at: int, name: str) -> bool:
    return _has_type(at, name, stat.S_IFDIR)


def _has_type(at: int, name: str, kind: int) -> bool:
    try:
        return stat.S_IFMT(os.lstat(name, dir_fd=at).st_mode) == kind
    except FileNotFoundError:
        return False
