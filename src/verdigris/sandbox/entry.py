"""Confines the calling process step by step; the caller must exec or exit afterwards."""

# Plain calls, as between fork and exec, and names stay `str`:
# ruff: noqa: PTH103, PTH108, PTH109, PTH110, PTH112, PTH113, PTH114

from __future__ import annotations

import os

from verdigris.sandbox.confinement import Besides, enter_network, inside
from verdigris.sandbox.mounts import bind, mount_overlay, mount_tmpfs, open_path, points_below, remove, seal
from verdigris.sandbox.places import make_devices, make_private
from verdigris.sandbox.syscalls import (
    ATTR_RDONLY,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    Mapper,
    Way,
    drop_all_but,
    join,
    kept_capabilities,
    leave,
    set_mount_attributes,
    unshare,
)

TYPE_CHECKING = False  # see confinement.py
if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.sandbox.confinement import Confinement

STEPS = ("namespaces", "overlay", "read-only", "ids", "network", "capabilities")
_MASK = "/dev/.masked"


def enter(
    confinement: Confinement,
    way: Way,
    reached: Callable[[str], None],
    mapped: Callable[[], None] | None = None,
    below: int | None = None,
) -> None:
    """Enters a checked confinement; calls `reached` with each of STEPS before it is taken.

    `mapped` returns when one outside has set the ids of a `mapped` namespace; without it we fork such a one.
    `below` is a descriptor of another user namespace: ours is made in it, so that one in it can follow.
    """
    cwd = os.getcwd()
    reached("namespaces")
    mapper = Mapper(below) if way == "mapped" and mapped is None else None
    if way == "own" and below is not None:
        join(below, CLONE_NEWUSER)
    leave(own_ids=way == "own")
    reached("overlay")
    writable, devices = _mount(confinement, user_namespace=way == "own")
    reached("read-only")
    seal(writable, devices)
    os.chdir(cwd)
    reached("ids")
    if mapper is not None:
        mapper.enter()
    elif way == "mapped" and mapped is not None:
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        mapped()
    elif below is not None:
        leave(own_ids=True)  # once more: whoever follows comes with rights, and finds the mounts locked
    reached("network")
    enter_network(confinement.network)
    reached("capabilities")
    drop_all_but(kept_capabilities(user_namespace=way != "plain"))


def _mount(confinement: Confinement, *, user_namespace: bool) -> tuple[list[str], list[str]]:
    """The mount points that stay writable, and those that are devices."""
    root = confinement.root
    layers = [open_path(folder) for folder in (*confinement.laid, root)]
    upper, work = open_path(confinement.upper), open_path(confinement.work)
    mounted = {point: open_path(point) for point in points_below(root) if os.path.exists(point)}
    outside = {folder: open_path(folder) for folder in confinement.writable}
    decoys = {path: open_path(decoy) for decoy, path in confinement.decoys if os.path.isdir(path)}
    besides = Besides(confinement)

    writable = make_private(confinement, user_namespace=user_namespace)
    devices, shared = make_devices()
    around = tuple(path for path in confinement.masked if inside(root, path))
    _mask(around)
    os.makedirs(root, exist_ok=True)
    if confinement.live:
        bind(layers[-1], root)
        set_mount_attributes(root, put=ATTR_RDONLY, recursive=True)
    else:
        mount_overlay(root, layers, upper, work, user_namespace=user_namespace)
    for path in confinement.removed:
        remove(f"{root}/{path}")
    for point, fd in mounted.items():
        if os.path.lexists(point):
            bind(fd, point)
    _fix(root, confinement.fixed)
    for folder, fd in outside.items():
        os.makedirs(folder, exist_ok=True)
        bind(fd, folder)
    for path, fd in decoys.items():
        if os.path.lexists(path):  # else it was on a volume that is not seen from here
            bind(fd, path)
    writable += besides.mount(user_namespace=user_namespace)
    _mask(tuple(path for path in confinement.masked if path not in around))
    if confinement.opens is not None and not confinement.live:
        confinement.opens.watch(root)
    own = [] if confinement.live else [root]
    seen = [path for path in decoys if os.path.lexists(path)]
    return [*own, *writable, *outside, *seen, *shared, *_processes()], list(devices)


def _fix(root: str, paths: tuple[str, ...]) -> None:
    """A file that is a mount of its own is sealed with all that is not writable."""
    for path in paths:
        place = f"{root}/{path}"
        if os.path.isfile(place) and not os.path.islink(place):
            fd = open_path(place)
            bind(fd, place)
            os.close(fd)


def _processes() -> list[str]:
    """What root can write in `/proc` governs the machine; a plain user's programs make namespaces with it."""
    return [] if os.geteuid() == 0 else ["/proc"]


def _mask(paths: tuple[str, ...]) -> None:
    os.close(os.open(_MASK, os.O_CREAT | os.O_CLOEXEC, 0o444))
    for path in paths:
        if os.path.isdir(path):
            mount_tmpfs(path, 0o555)
        elif os.path.lexists(path):
            fd = open_path(_MASK)
            bind(fd, path)
            os.close(fd)
    os.unlink(_MASK)
