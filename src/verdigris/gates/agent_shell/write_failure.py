"""Explains, after a command's output, why a path could not be written and which key allows it.

What the command prints is passed on as it is. Where standard error is a pipe, a process of ours stands
between and reads along; a file is read afterwards; a terminal is left alone.
"""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH118

from __future__ import annotations

import os
import select
import stat

from verdigris.core.agents import hook_in
from verdigris.gates.agent_shell.confinement import ANCHOR, HOLE, READONLY, current_folder

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import NoReturn


KEPT = 64 * 1024
"""Bytes of what was said last."""
_CHUNK = 64 * 1024
_DRAINED_SECONDS = 0.3
"""How long to wait for what is still in the pipe, where a process left behind keeps it open."""


class StderrWatch:
    """Watches one command's standard error."""

    def __init__(self) -> None:
        self.writing = self.kept = self.relayed = -1
        self.both = False
        found = os.fstat(2)
        self.start = found.st_size if stat.S_ISREG(found.st_mode) else -1
        if stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode):
            other = os.fstat(1)
            self.both = (found.st_dev, found.st_ino) == (other.st_dev, other.st_ino)
            self._interpose()

    def _interpose(self) -> None:
        reading, self.writing = os.pipe2(os.O_CLOEXEC)
        self.kept = os.memfd_create("said")
        relay = os.fork()
        if relay == 0:
            os.close(self.writing)
            _pass_on(reading, self.kept)
        os.close(reading)
        self.relayed = os.pidfd_open(relay)

    def redirect(self) -> None:
        """Runs in the command's own process, before it is confined."""
        if self.writing >= 0:
            os.dup2(self.writing, 2)
            if self.both:
                os.dup2(self.writing, 1)

    def begin(self) -> None:
        """Outside: the command alone holds the pipe's end from now on."""
        if self.writing >= 0:
            os.close(self.writing)

    def printed_last(self) -> bytes:
        """What was printed last; after it our own line may follow."""
        if self.relayed >= 0:
            select.select([self.relayed], [], [], _DRAINED_SECONDS)
            return os.pread(self.kept, KEPT * 2, 0)
        if self.start >= 0:
            return _read_back(self.start)
        return b""


def _pass_on(reading: int, kept: int) -> NoReturn:
    """Copies until the last writer has closed the pipe, or nobody reads any more."""
    try:
        os.setsid()  # a terminal's interrupt is not for us
        os.dup2(reading, 0)
        os.dup2(kept, 1)
        os.closerange(3, 1024)
        last = b""
        while data := os.read(0, _CHUNK):
            left = data
            while left:
                left = left[os.write(2, left) :]
            last = (last + data)[-KEPT:]
            os.pwrite(1, last, 0)
    finally:
        os._exit(0)


def _read_back(start: int) -> bytes:
    """Reads the end of a file that standard error went to; we may not be allowed to read it."""
    try:
        file = os.open("/proc/self/fd/2", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        size = os.fstat(file).st_size
        return os.pread(file, KEPT, max(start, size - KEPT))
    except OSError:
        return b""
    finally:
        os.close(file)


def explanation(
    said: bytes, mounts: Sequence[tuple[str, int]], root: str, environment: Mapping[str, str]
) -> bytes:
    """The line to print after the output; empty if the sandbox did not stop the command, or the phase did."""
    if not is_told(said):
        return b""
    home = environment.get("HOME") or "/"
    for spelling in spelled_paths(said):
        path = os.path.normpath(os.path.join(current_folder(), spelling))
        if not _is_path(spelling, path) or _is_written(path, mounts):
            continue
        if _is_inside(path, root) and not _is_inside(path, f"{root}/.git"):
            return b""
        if "/.git/tdd" in path:
            return b""
        shown = f"~{path[len(home) :]}" if _is_inside(path, home) and path != home else path
        line = (
            f"[tdd] {shown} is read-only in an agent's shell; "
            f"a person may allow it in tdd.yaml: `sandbox: {{write: [{shown}]}}`\n"
        )
        return line.encode(errors="surrogateescape")
    return b""


def _is_path(spelling: str, path: str) -> bool:
    """Whether a spelling is a path, and not words of a sentence; with blanks it must be absolute."""
    if not spelling or (" " in spelling and not spelling.startswith("/")):
        return False
    return "/" in spelling or spelling.startswith(".") or os.path.lexists(path)


def _is_written(path: str, mounts: Sequence[tuple[str, int]]) -> bool:
    """Whether the nearest mount above the path can be written."""
    known = {point: kind for point, kind in mounts if kind in {ANCHOR, HOLE, READONLY}}
    real = os.path.realpath(path)
    while real:
        if real in known:
            return known[real] != READONLY
        real = real.rpartition("/")[0]
    return False


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


GUEST_SIGNS = (b"Read-only file system", b"Device or resource busy")
WHY = (
    b"[tdd] a hook of the user's could not write there: the path is protected in this phase. "
    b"Nothing is broken, and the hook runs again after the next edit.\n"
)


def hold_stderr(environment: Mapping[str, str]) -> int:
    """Where a hook's stderr is kept until it has ended; -1 for anything else."""
    return os.memfd_create("stderr") if hook_in(environment) else -1


def explain_stderr(kept: int) -> None:
    if kept < 0:
        return
    said = os.pread(kept, os.fstat(kept).st_size, 0)
    if any(sign in said for sign in GUEST_SIGNS):
        said += WHY
    while said:
        said = said[os.write(2, said) :]


SIGNS = (b"read-only file system", b"erofs", b"device or resource busy")
"""In lower case."""
CAUSE = 3
"""Lines by which a cause may stand below what it stopped, as some tools print it."""
_AROUND = " '\"`‘’“”"
_QUOTED = "['\"`‘“]([^'\"`‘’“”]+)['\"`’”]"


def is_told(said: bytes) -> bool:
    lower = said.lower()
    return any(sign in lower for sign in SIGNS)


def spelled_paths(said: bytes) -> Iterator[str]:
    """Spellings that may name it, likely ones first: quoted, or before the sign; most are no paths at all."""
    import re  # only a write that failed needs it

    of_sign = re.compile("|".join(sign.decode() for sign in SIGNS), re.IGNORECASE)
    quoted = re.compile(_QUOTED)
    lines = [line.decode("utf-8", "surrogateescape") for line in said.splitlines()]
    for number, text in enumerate(lines):
        if not (sign := of_sign.search(text)):
            continue
        yield from quoted.findall(text)
        before = text[: sign.start()]
        for part in reversed(before.split(": ")):
            yield part.strip(_AROUND)
            yield part.rpartition(" ")[2].strip(_AROUND)
        for above in reversed(lines[max(0, number - CAUSE) : number]):
            yield from quoted.findall(above)
