"""The private folders of a confined process: temporary ones, `/run` and `/dev`."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH114, PTH120, PTH211

from __future__ import annotations

import errno
import os

from verdigris.sandbox.confinement import Confinement, inside
from verdigris.sandbox.mounts import bind, mount_overlay, mount_tmpfs, open_path, path_of_descriptor
from verdigris.sandbox.syscalls import mount

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Sequence

TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - these are what is made private
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - same
RUN = "/run"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}
_ANYONE = 0o1777


def temporary() -> str:
    """As `tempfile` would say, which takes as long to load as all of this."""
    asked = (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp")  # noqa: S108 - folders of ours are made in it
    usable = (path for path in asked if path and os.access(path, os.W_OK | os.X_OK) and os.path.isdir(path))
    return os.path.realpath(next(usable, "/tmp"))  # noqa: S108


def make_private(confinement: Confinement, *, user_namespace: bool) -> list[str]:
    """The mount points that stay writable.

    Sockets in these folders (tmux, an ssh agent, docker, the session's bus) lead to processes outside. With
    the machine's network a database's socket in `/run` is wanted, and the others come with it.
    """
    writable = []
    for folder in TEMPORARY:
        if os.path.isdir(folder) and not os.path.islink(folder):
            _temporary(folder, confinement, user_namespace=user_namespace)
            writable.append(folder)
    if confinement.network != "host" and os.path.isdir(RUN) and not _holds(RUN, confinement):
        mount_tmpfs(RUN, 0o755)
    return writable


def _holds(folder: str, confinement: Confinement) -> bool:
    return any(inside(path, folder) for path in (confinement.root, *confinement.needed))


def _temporary(folder: str, confinement: Confinement, *, user_namespace: bool) -> None:
    """Empty; or, where the run reads something in it, what is there with nothing written through."""
    below = open_path(folder)
    needed = {path: open_path(path) for path in confinement.needed if inside(path, folder)}
    mount_tmpfs(folder, _ANYONE)
    if _holds(folder, confinement):
        try:
            _show(folder, below, user_namespace=user_namespace)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _show_only(needed)
    for fd in (below, *needed.values()):
        os.close(fd)


def _show(folder: str, below: int, *, user_namespace: bool) -> None:
    names = [f"{folder}/upper", f"{folder}/work"]
    for name in names:
        os.mkdir(name)
    os.chmod(names[0], _ANYONE)
    upper, work = map(open_path, names)
    mount_overlay(folder, [below], upper, work, user_namespace=user_namespace)
    os.close(upper)
    os.close(work)


def _show_only(needed: dict[str, int]) -> None:
    """No overlay can be had of a folder with mounts in it that are not ours to hide."""
    for path, fd in needed.items():
        if os.path.isdir(path_of_descriptor(fd)):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC))
        bind(fd, path)


def make_devices() -> tuple[Sequence[str], Sequence[str]]:
    """A `/dev` without disks, memory or the user's terminals: its device mounts, its writable mounts."""
    old = {name: open_path(f"/dev/{name}") for name in DEVICES if os.path.exists(f"/dev/{name}")}
    mount_tmpfs("/dev", 0o755)
    for name, fd in old.items():
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_CLOEXEC, 0o666))
        bind(fd, f"/dev/{name}")
        os.close(fd)
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")
    mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0600")
    mount_tmpfs(SHARED_MEMORY, _ANYONE)
    return [f"/dev/{name}" for name in (*old, "pts")], [SHARED_MEMORY]
