"""The shell card: what a shell call needs to know, kept ready in a file."""

# Part of every shell call, where every millisecond counts, and names stay `str`:
# ruff: noqa: PTH105, PTH116, PTH120, PTH123

from __future__ import annotations

import marshal
import os

from verdigris.core.agents import of_all

TYPE_CHECKING = False  # `typing` costs as much as all of this
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSION = 4
NAME = "shell.card"
LOG = "events.jsonl"
ANCHOR, READONLY, MASKED, HOLE, DISK, APART = range(6)
"""What a mount is for: not to be moved, not to be written, not to be read, writable inside what is not,
a disk that root could write below all of them, an empty folder of the call's own."""

NEUTRAL = frozenset(
    b"call checkpoint denied edit head_seen left_open put_back putting_back sent_back suite_run test_run"
    b" tool_allowed violation".split()
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
        """How namespaces are to be had here; empty where they are not, or where nothing is protected."""
        self.mounts = mounts
        self.log = log
        """The size of the log that this was made from, and its last bytes."""
        self.ids = ids
        """What the one outside writes into which map, where the way is `mapped`."""
        self.around = around
        """Of the surroundings that this was made in; see `surroundings`."""


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


def read(private: str, control: str, around: tuple[str | int | None, ...] = ()) -> ShellCard | None:
    """None where there is none, or it is out of date."""
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
