"""Confines the calling process, step by step. Afterwards the caller must exec a program or exit."""

from __future__ import annotations

import errno
import os

from verdigris.core.confinement import SHARED_MEMORY, TEMPORARY
from verdigris.sandbox.confinement import (
    Confinement,
    ExtraMounts,
    bind,
    enter_host,
    enter_network,
    is_inside,
    mount_overlay,
    mount_tmpfs,
    open_path,
    path_of_descriptor,
    points_below,
    remove,
    seal,
)
from verdigris.sandbox.process_table import FirstProcess, enter_table
from verdigris.sandbox.syscalls import (
    ATTR_RDONLY,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    Mapper,
    Way,
    drop_all_but,
    enter_namespaces,
    join,
    kept_capabilities,
    mount,
    set_mount_attributes,
    unshare,
)

TYPE_CHECKING = False  # `typing` takes long to load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
    """The folder that `tempfile` would choose.

    Loading that module would double the time of loading this one.
    """
    asked = (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp")  # noqa: S108 - folders of ours are made in it
    usable = (path for path in asked if path and os.access(path, os.W_OK | os.X_OK) and os.path.isdir(path))
    return os.path.realpath(next(usable, "/tmp"))  # noqa: S108


def make_private(confinement: Confinement, *, user_namespace: bool) -> list[str]:
    """Replaces the machine's temporary folders and `/run`; returns the mount points that stay writable.

    Sockets in these folders (tmux, an ssh agent, docker, the session's bus) lead to processes outside. With
    the machine's network `/run` stays, because tests may need a database's socket in it.
    """
    writable = []
    for folder in confinement.hidden:
        _make_empty(folder, 0o755, confinement.needed)
    for folder in TEMPORARY:
        if os.path.isdir(folder) and not os.path.islink(folder):
            _make_temporary(folder, confinement, user_namespace=user_namespace)
            writable.append(folder)
    if confinement.network != "host" and os.path.isdir(RUN) and not _holds(RUN, confinement):
        mount_tmpfs(RUN, 0o755)
    return writable


def _holds(folder: str, confinement: Confinement) -> bool:
    return any(is_inside(path, folder) for path in (confinement.root, *confinement.needed))


def _make_temporary(folder: str, confinement: Confinement, *, user_namespace: bool) -> None:
    """Mounts an empty folder; or, if the run reads something in the old one, an overlay over the old one."""
    if confinement.hidden or not _holds(folder, confinement):
        _make_empty(folder, _ANYONE, confinement.needed)
        return
    below = open_path(folder)
    needed = _open_inside(folder, confinement.needed)
    mount_tmpfs(folder, _ANYONE)
    try:
        _lay_over(folder, below, user_namespace=user_namespace)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        _bind_needed(needed)
    for fd in (below, *needed.values()):
        os.close(fd)


def _make_empty(folder: str, mode: int, paths: Sequence[str]) -> None:
    """Mounts an empty folder, with those of the paths that lie in the old one."""
    needed = _open_inside(folder, paths)
    mount_tmpfs(folder, mode)
    _bind_needed(needed)
    for fd in needed.values():
        os.close(fd)


def _open_inside(folder: str, paths: Sequence[str]) -> dict[str, int]:
    return {path: open_path(path) for path in paths if is_inside(path, folder)}


def _lay_over(folder: str, below: int, *, user_namespace: bool) -> None:
    """Mounts an overlay over the old folder `below`; what is written goes into memory."""
    names = [f"{folder}/upper", f"{folder}/work"]
    for name in names:
        os.mkdir(name)
    os.chmod(names[0], _ANYONE)
    upper, work = map(open_path, names)
    mount_overlay(folder, [below], upper, work, user_namespace=user_namespace)
    os.close(upper)
    os.close(work)


def _bind_needed(needed: dict[str, int]) -> None:
    """Mounts the needed paths only: a folder with mounts that we may not hide cannot be under an overlay."""
    for path, fd in needed.items():
        if os.path.isdir(path_of_descriptor(fd)):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_CLOEXEC))
        bind(fd, path)


def make_devices() -> tuple[Sequence[str], Sequence[str]]:
    """Mounts a `/dev` without disks, memory or the user's terminals.

    Returns its devices and its writable folders.
    """
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
    # `newinstance`: terminals that a run opens are not among those of the machine.
    mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666,mode=0600")
    mount_tmpfs(SHARED_MEMORY, _ANYONE)
    return [f"/dev/{name}" for name in (*old, "pts")], [SHARED_MEMORY]


STEPS = ("namespaces", "processes", "overlay", "read-only", "ids", "network", "capabilities")
_MASK = "/dev/.masked"


def enter(
    confinement: Confinement,
    way: Way,
    reached: Callable[[str], None],
    mapped: Callable[[int], None] | None = None,
    below: int | None = None,
) -> FirstProcess | None:
    """Enters a checked confinement. Calls `reached` with the name of each step (STEPS) before it takes the
    step.

    Returns the first process of a new process table, which the caller then is: it must start its program by
    it. `mapped`: returns when a process outside has written the id maps of a `mapped` namespace for the
    process of this number; without it such a process is forked here. `below`: a descriptor of a user
    namespace in which ours is made, so that processes in it can join ours later.
    """
    cwd = os.getcwd()
    reached("namespaces")
    mapper = Mapper(below) if way == "mapped" and mapped is None else None
    if way == "own" and below is not None:
        join(below, CLONE_NEWUSER)
    enter_namespaces(own_ids=way == "own")
    reached("processes")
    first = enter_table() if confinement.processes else None
    number = os.getpid() if first is None else first.number
    reached("overlay")
    writable, devices = _mount(confinement, user_namespace=way == "own")
    reached("read-only")
    seal(writable, devices)
    os.chdir(cwd)  # by its path: the folder that we are in lies below the new mounts
    reached("ids")
    if mapper is not None:
        mapper.enter(number)
    elif way == "mapped" and mapped is not None:
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        mapped(number)
    elif below is not None:
        # A second one: a process that joins has all capabilities, and must find the mounts locked.
        enter_namespaces(own_ids=True)
    reached("network")
    enter_network(confinement.network)
    if confinement.host:
        enter_host(confinement.host)
    reached("capabilities")
    drop_all_but(kept_capabilities(user_namespace=way != "plain"))
    return first


def _mount(confinement: Confinement, *, user_namespace: bool) -> tuple[list[str], list[str]]:
    """Makes all mounts. Returns the mount points that stay writable, and those that are devices.

    All folders are opened first, because the first mounts hide some of them.
    """
    root = confinement.root
    mounted = {point: open_path(point) for point in points_below(root) if os.path.exists(point)}
    if confinement.memory is not None:
        shadows = (folder for *_, upper, work in confinement.shadows for folder in (upper, work))
        decoys_of = (decoy for decoy, _ in confinement.decoys)
        folders = (confinement.upper, confinement.work, *confinement.laid, *decoys_of, *shadows)
        confinement.memory.mount(folders, *confinement.laid)
    layers = [open_path(folder) for folder in (*confinement.laid, root)]
    upper, work = open_path(confinement.upper), open_path(confinement.work)
    outside = {path: open_path(folder) for folder, path in confinement.writable}
    decoys = {path: open_path(decoy) for decoy, path in confinement.decoys if os.path.isdir(path)}
    besides = ExtraMounts(confinement)

    writable = make_private(confinement, user_namespace=user_namespace)
    devices, shared = make_devices()
    around = tuple(path for path in confinement.masked if is_inside(root, path))
    _mask(around)
    os.makedirs(root, exist_ok=True)
    if confinement.live:
        bind(layers[-1], root)
        set_mount_attributes(root, put=ATTR_RDONLY, recursive=True)
    else:
        mount_overlay(root, layers, upper, work, user_namespace=user_namespace)
    for path in confinement.removed:
        remove(f"{root}/{path}")
    for point, fd in mounted.items():  # an overlay does not contain the mounts below its folder
        if os.path.lexists(point):
            bind(fd, point)
    _mount_fixed(root, confinement.fixed)
    for folder, fd in outside.items():
        os.makedirs(folder, exist_ok=True)
        bind(fd, folder)
    for path, fd in decoys.items():
        if os.path.lexists(path):  # it may have been on a mount that is not visible any more
            bind(fd, path)
    writable += besides.mount(user_namespace=user_namespace)
    _mask(tuple(path for path in confinement.masked if path not in around))
    if confinement.opens is not None and not confinement.live:
        confinement.opens.watch(root)
    own = [] if confinement.live else [root]
    seen = [path for path in decoys if os.path.lexists(path)]
    return [*own, *writable, *outside, *seen, *shared, *_writable_proc()], list(devices)


def _mount_fixed(root: str, paths: tuple[str, ...]) -> None:
    """Makes each file a mount of its own, which `seal` then makes read-only."""
    for path in paths:
        place = f"{root}/{path}"
        if os.path.isfile(place) and not os.path.islink(place):
            fd = open_path(place)
            bind(fd, place)
            os.close(fd)


def _writable_proc() -> list[str]:
    """`/proc`, unless we are root, who could change the machine through it.

    Programs of a plain user write to it when they make namespaces.
    """
    return [] if os.geteuid() == 0 else ["/proc"]


def _mask(paths: tuple[str, ...]) -> None:
    """Hides each path under an empty folder or file."""
    os.close(os.open(_MASK, os.O_CREAT | os.O_CLOEXEC, 0o444))
    for path in paths:
        if os.path.isdir(path):
            mount_tmpfs(path, 0o555)
        elif os.path.lexists(path):
            fd = open_path(_MASK)
            bind(fd, path)
            os.close(fd)
    os.unlink(_MASK)  # the mounts keep the file
