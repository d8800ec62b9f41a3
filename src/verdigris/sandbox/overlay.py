"""Folders in which writing leaves what lies below as it is, and bind mounts of what was opened before."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH106, PTH108, PTH112, PTH114, PTH208

from __future__ import annotations

import os

from verdigris.sandbox.syscalls import MS_BIND, MS_REC, mount

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Sequence


def opened(path: str) -> int:
    """A hold on what is at a path now, whatever is mounted over it later; gone at the exec."""
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def held(fd: int) -> str:
    """By descriptor: a name of any bytes needs no escaping, and no later mount comes between."""
    return f"/proc/self/fd/{fd}"


def mount_overlay(target: str, lower: Sequence[int], upper: int, work: int, *, user_namespace: bool) -> None:
    layers = ":".join(map(held, lower))
    options = f"lowerdir={layers},upperdir={held(upper)},workdir={held(work)}"
    if user_namespace:
        options += ",userxattr"
    mount("overlay", target, "overlay", 0, options)


def bind(source: int, target: str) -> None:
    mount(held(source), target, None, MS_BIND | MS_REC)


def mount_tmpfs(target: str, mode: int) -> None:
    mount("tmpfs", target, "tmpfs", 0, f"mode={mode:o}")


def remove(path: str) -> None:
    """Whatever is there, without following a link; a path that is not there is as good."""
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            for name in os.listdir(path):
                remove(f"{path}/{name}")
            os.rmdir(path)
        else:
            os.unlink(path)
    except (FileNotFoundError, NotADirectoryError):
        return
