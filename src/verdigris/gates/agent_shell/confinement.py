"""Confines the calling process as the shell card says: what a shell call needs to know, kept ready in a file.

It also blocks sockets that speak as the person.
"""

from __future__ import annotations

import errno
import marshal
import os
import stat

from verdigris.core.agents import of_all
from verdigris.sandbox.syscalls import (
    ATTR_RDONLY,
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    Mapper,
    attach_mount,
    copy_mounts,
    drop_all_but,
    enter_namespaces,
    enter_users,
    kept_capabilities,
    mount,
    set_mount_attributes,
    unshare,
)

TYPE_CHECKING = False  # `typing` takes as long to load as all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from verdigris.sandbox.syscalls import Way


# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH105, PTH109, PTH112, PTH116, PTH120, PTH123


VERSION = 5
NAME = "shell.card"
LOG = "events.jsonl"
ANCHOR, READONLY, MASKED, HOLE, DISK, APART, PROCESSES, TERMINALS = range(8)
"""What a mount is for: not to be moved, not to be written, not to be read, writable inside what is not,
a disk that root could write below all of them, an empty folder of the call's own, what shows the processes of
a PID namespace, terminals of the call's own."""
KERNELS = {
    PROCESSES: ("proc", None),
    TERMINALS: ("devpts", "newinstance,ptmxmode=0666,mode=620"),
}
"""Of the kernel's own file systems that are mounted anew: the kind and its options."""

NEUTRAL = frozenset(
    b"call checkpoint denied edit head_seen left_open put_back putting_back sent_back suite_hindered"
    b" suite_run test_run tool_allowed violation".split()
)
"""Events after which the same is protected as before them."""
VARIABLES = (
    *("HOME", "PATH", "TMPDIR", "TMP", "TEMP"),
    *of_all(lambda agent: (*agent.variables.temporary, *agent.variables.homes)),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "ZDOTDIR", "BASH_ENV", "ENV"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "NPM_CONFIG_USERCONFIG", "PIP_CONFIG_FILE"),
    *("npm_config_cache", "NPM_CONFIG_CACHE", "npm_config_store_dir", "YARN_GLOBAL_FOLDER"),
    *("YARN_CACHE_FOLDER", "PNPM_HOME", "BUN_INSTALL_CACHE_DIR", "DENO_DIR", "PIP_CACHE_DIR", "UV_CACHE_DIR"),
    *("POETRY_CACHE_DIR", "PIPENV_CACHE_DIR", "CARGO_HOME", "GOPATH", "GOMODCACHE", "GOCACHE"),
    *("GRADLE_USER_HOME", "NUGET_PACKAGES", "COMPOSER_CACHE_DIR", "BUNDLE_USER_CACHE", "PUB_CACHE"),
    *("CCACHE_DIR", "SCCACHE_DIR", "PRE_COMMIT_HOME", "COREPACK_HOME"),
)
"""Where homes, settings and caches lie: the names that core/confinement and writable.py read."""
_SEEN = 64
_TAIL = 1 << 20


class ShellCard:
    __slots__ = ("around", "ids", "log", "mounts", "root", "way")

    def __init__(
        self,
        root: str,
        way: str,
        mounts: Sequence[tuple[str, int]],
        log: tuple[int, bytes],
        ids: Sequence[tuple[str, str]] = (),
        around: tuple[str | int | None, ...] = (),
    ) -> None:
        self.root = root
        self.way = way
        """How this system gives namespaces; empty if it gives none, or if nothing is protected."""
        self.mounts = mounts
        self.log = log
        """The size of the log that this was made from, and its last bytes."""
        self.ids = ids
        """Name and text of each map that the process outside writes, if the way is `mapped`."""
        self.around = around
        """The surroundings when the card was made; see `surroundings`."""

    @property
    def is_apart(self) -> bool:
        """Whether the call's processes see none outside, and reach none."""
        return is_apart(self.mounts)


def is_apart(mounts: Iterable[tuple[str, int]]) -> bool:
    return any(kind == PROCESSES for _, kind in mounts)


def write(private: str, card: ShellCard) -> None:
    fresh = f"{private}/{NAME}.{os.getpid()}"
    with open(fresh, "wb") as file:
        file.write(
            marshal.dumps(
                (VERSION, card.root, card.way, tuple(card.mounts), card.log, tuple(card.ids), card.around)
            )
        )
    os.replace(fresh, f"{private}/{NAME}")


def surroundings(control: str, environment: Mapping[str, str]) -> tuple[str | int | None, ...]:
    """What decides on mounts beside log and tree: variables, and the linked worktrees there are."""
    try:
        linked = os.stat(f"{os.path.dirname(control)}/worktrees").st_mtime_ns
    except FileNotFoundError:
        linked = 0
    return linked, *(environment.get(name) for name in VARIABLES)


def read_card(private: str, control: str, around: tuple[str | int | None, ...] = ()) -> ShellCard | None:
    """None if there is no card, or it is out of date."""
    try:
        with open(f"{private}/{NAME}", "rb") as file:
            version, root, way, mounts, log, ids, made_in = marshal.loads(file.read())  # noqa: S302 - no agent can write it
        if version != VERSION or made_in != around or not _neutral_since(f"{control}/{LOG}", *log):
            return None
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return ShellCard(root, way, mounts, log, ids, made_in)


def log_position(control: str) -> tuple[int, bytes]:
    """How far the log goes now."""
    with open(f"{control}/{LOG}", "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _SEEN))
        return size, file.read(_SEEN)


def _neutral_since(log: str, size: int, last: bytes) -> bool:
    with open(log, "rb") as file:
        file.seek(max(0, size - _SEEN))
        if file.read(len(last)) != last:
            return False
        tail = file.read(_TAIL + 1)
    return len(tail) <= _TAIL and all(_type(line) in NEUTRAL for line in tail.splitlines())


def _type(line: bytes) -> bytes:
    return line.partition(b'"type":"')[2].partition(b'"')[0]


DROPPED = frozenset(
    {
        "TMUX",
        "TMUX_PANE",
        "STY",
        "ZELLIJ",
        *of_all(lambda agent: (*agent.sockets.variables, *agent.sockets.secrets)),
    }
)
"""Variables that name such a socket, or give access to it."""
_NAMED = (*of_all(lambda agent: agent.sockets.variables), "TMUX")
_PARENTS = ("XDG_RUNTIME_DIR", "TMPDIR", "TMUX_TMPDIR", *of_all(lambda agent: agent.variables.temporary))
_FOLDERS = (*of_all(lambda agent: agent.sockets.folders), "tmux-{}", "zellij-{}")
_SCREENS = ("/run/screen", "/var/run/screen", "/tmp/screens")  # noqa: S108 - where others put it


def blocked_sockets(environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """Mounts beside those of the card, which is made before the client starts, and for several clients."""
    user = os.getuid()
    parents = {"/tmp", *(environment.get(name, "") for name in _PARENTS)} - {""}  # noqa: S108 - same
    folders = [f"{parent}/{name.format(user)}" for parent in parents for name in _FOLDERS]
    found = [(folder, APART) for folder in (*folders, *_SCREENS) if os.path.isdir(folder)]
    apart = {os.path.realpath(folder) for folder, _ in found}
    for name in _NAMED:
        path = environment.get(name, "").split(",")[0]
        if path and os.path.realpath(os.path.dirname(path)) not in apart and _is_socket(path):
            found.append((path, DISK))
    return found


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


_ALL = 64
_SYS_ADMIN, _DAC_READ_SEARCH, _SYS_MODULE, _SYS_RAWIO, _MKNOD = 21, 2, 16, 17, 27
_NOBODYS = frozenset({_SYS_ADMIN, _DAC_READ_SEARCH, _SYS_MODULE, _SYS_RAWIO, _MKNOD})
"""Capabilities that undo mounts, open files past them, or write the disk below them."""


def confine(
    mounts: Iterable[tuple[str, int]],
    way: Way,
    entered: Callable[[], None] | None = None,
    shown: tuple[str, str] | None = None,
) -> None:
    """What is not named is read-only; the network stays that of the machine. If processes are to be apart,
    the caller is in their namespace already, and for `own` in a user namespace around it.

    `shown`: a folder, and the folder in whose place it is seen.

    `entered` is called in our namespaces, to tell the one outside, who then sets the ids of a `mapped` one;
    whoever calls this waits for that before the exec.
    """
    cwd = current_folder()
    keep = _kept_capabilities(way)  # which we are is not known in a namespace without ids
    mapper = Mapper() if way == "mapped" and entered is None else None
    planned = list(mounts)
    apart = is_apart(planned)
    enter_namespaces(own_ids=way == "own" and not apart, ipc=False)
    try:
        _seal(planned)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        _seal_one_by_one(planned)
    if shown is not None:
        mount(*shown, None, MS_BIND)  # read-only as what is around it
    # Through the new mounts: what was held from before leads past them.
    os.chdir(cwd)
    if mapper is not None:
        mapper.enter(os.getpid())
    elif way == "mapped":
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
    elif way == "own" and apart:
        enter_users(CLONE_NEWNS)  # what the keeper and other calls have is not to be traced from here
    if entered is not None:
        entered()
    drop_all_but(keep)


def _kept_capabilities(way: Way) -> frozenset[int]:
    """Root in a user namespace of its own keeps nearly all, so that packages can be installed."""
    user_namespace = way != "plain"
    if user_namespace and os.geteuid() == 0:
        return frozenset(range(_ALL)) - _NOBODYS
    return kept_capabilities(user_namespace=user_namespace)


def current_folder() -> str:
    """The root, where the folder that the process stood in is gone."""
    try:
        return os.getcwd()
    except OSError:
        return "/"


def _seal(planned: Sequence[tuple[str, int]]) -> None:
    """A hole is copied before all is made read-only: it stays as it was, with what is mounted in it."""
    holes = {path: held for path, kind in planned if kind == HOLE and (held := _copy_mount(path)) is not None}
    set_mount_attributes("/", put=ATTR_RDONLY, recursive=True)
    for path, kind in planned:
        try:
            if path in holes:
                attach_mount(holes.pop(path), path)
            elif kind != HOLE:
                _mount(path, kind)
        except (FileNotFoundError, NotADirectoryError):
            continue  # gone since the card was made


def _copy_mount(path: str) -> int | None:
    try:
        return copy_mounts(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _mount(path: str, kind: int) -> None:
    if kind in {MASKED, APART}:
        mount("tmpfs", path, "tmpfs", 0, "mode=555" if kind == MASKED else "mode=700")
    elif kind in KERNELS:
        name, options = KERNELS[kind]
        mount(name, path, name, MS_NOSUID | MS_NOEXEC, options)
    elif kind == DISK:
        mount("/dev/null", path, None, MS_BIND)
    else:
        mount(path, path, None, MS_BIND | MS_REC)
        if kind == READONLY:
            set_mount_attributes(path, put=ATTR_RDONLY, recursive=True)


def _seal_one_by_one(planned: Sequence[tuple[str, int]]) -> None:
    """Before Linux 5.12; flags that a mount has already must be named, or a plain user is refused."""
    from verdigris.sandbox.confinement import list_mounts

    flags = {found.point: found.flags for found in list_mounts()}
    for point, had in flags.items():
        try:
            mount(None, point, None, MS_REMOUNT | MS_BIND | had | MS_RDONLY)
        except (FileNotFoundError, NotADirectoryError):
            continue  # hidden by a mount above it, also in the sandbox
    for path, kind in planned:
        try:
            _mount(path, ANCHOR if kind in {HOLE, READONLY} else kind)
        except (FileNotFoundError, NotADirectoryError):
            continue
        if kind in {HOLE, READONLY}:
            around = next((place for place in (path, *_parents_of(path)) if place in flags), "/")
            had = flags.get(around, 0) & ~MS_RDONLY
            mount(None, path, None, MS_REMOUNT | MS_BIND | had | (MS_RDONLY if kind == READONLY else 0))


def _parents_of(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path
