"""The quick state of a worktree: a file that the gate's quick entry reads with almost no imports.

The log is the truth. The card names the stamp of the log that it was made from (`log.light`), and is valid
only while the log has that stamp. If it is stale, missing or damaged, the log is read.
"""

from __future__ import annotations

import marshal
import posix
import sys

from verdigris import __version__
from verdigris.storage.log.light import read as read_file

TYPE_CHECKING = False  # `typing` takes longer to load than the rest of a hook
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from verdigris.storage.quick_patterns import Pattern

    Refs: TypeAlias = tuple[bytes, bytes | None, tuple[int, int, int] | None]
    """HEAD; the commit of its branch; the stat of packed-refs, if the branch has no file of its own."""

FILE = "card"
TAG = (6, __version__, sys.hexversion)
"""`marshal` writes for one version of the interpreter, and the rules are chosen by one version of ours."""


class QuickCard:
    stamp: str
    root: str
    control: str
    worktree: str
    schema: int
    """The version that records are written with."""
    phase: str
    suspended: bool
    targets: Pattern | None
    """Matches the paths that the open claims cover."""
    claimers: list[str]
    """The agents whose claims alone are open."""
    rules: list[tuple[str, Pattern | None]]
    """Class and pattern; the first that matches decides. None: the pattern cannot be matched here."""
    instructions: tuple[str, ...]
    """Names of texts for agents: the slow entry looks at their beginning."""
    mixed: list[str]
    mixed_source: tuple[str, ...]
    """Endings of source files that may contain tests."""
    held_out: list[str]
    config: str | None
    """The digest of `tdd.yaml`; None while a change of it would have no effect."""
    refs: Refs
    git: tuple[int, int, int] | None
    """The stat of git's configuration, which names its hooks."""
    guarded: tuple[str, ...]
    """Other places that an agent may never write."""
    home: str
    """The part of the environment that decides where those are."""
    prefix: str
    """The shell prefix in the client's settings, if its commands are confined."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)


def read(private: str) -> QuickCard | None:
    try:
        tag, fields = marshal.loads(whole(f"{private}/{FILE}"))  # noqa: S302 - our own, where no agent may write
        return QuickCard(fields) if tag == TAG else None
    except (OSError, EOFError, ValueError, TypeError, KeyError):
        return None


def write(private: str, card: QuickCard) -> None:
    place = f"{private}/{FILE}"
    new = f"{place}.{posix.getpid()}"
    fd = posix.open(new, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC, 0o666)
    try:
        posix.write(fd, marshal.dumps((TAG, card.__dict__)))
    finally:
        posix.close(fd)
    posix.replace(new, place)


def forget(private: str) -> None:
    try:
        posix.unlink(f"{private}/{FILE}")
    except OSError:
        return


def refs(git_dir: str, common: str) -> Refs | None:
    """Facts that change when HEAD moves; None if only git can read them."""
    try:
        head = read_file(f"{git_dir}/HEAD")
        if not head.startswith(b"ref: "):
            return head, None, None
        name = head[5:].rstrip(b"\n").decode("ascii")
        try:
            commit = read_file(f"{common}/{name}")
        except FileNotFoundError:
            return head, None, look(f"{common}/packed-refs")
    except (OSError, ValueError):
        return None
    return None if commit.startswith(b"ref: ") else (head, commit, None)


def look(path: str) -> tuple[int, int, int] | None:
    try:
        found = posix.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_ctime_ns


def whole(path: str) -> bytes:
    fd = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK)
    try:
        return posix.read(fd, posix.fstat(fd).st_size)
    finally:
        posix.close(fd)
