"""The folder `.tdd` of a worktree: what people read of plans, steps and evidence, and what of it git sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

NAME = ".tdd"
PRIVATE = ("plan", "logs", "cycle", "holdout", ".gitignore")
"""What is nobody's but this machine's; plans and evidence of cycles are committed."""
IGNORING = "# made by `tdd`; evidence/ and plans/ are for git, the rest is not\n" + "".join(
    f"/{name}\n" for name in PRIVATE
)
_EARLIER = "# made by `tdd run`; nothing in here is for git\n*\n"


def prepare_folder(root: Path) -> Path:
    """The folder ignores itself, so that nobody's own `.gitignore` is touched and no tree is dirtied."""
    folder = root / NAME
    ignoring = folder / ".gitignore"
    if not ignoring.is_file() or ignoring.read_text("utf-8", "replace") == _EARLIER:
        write_whole(ignoring, IGNORING.encode())
    return folder


def is_made_here(root: Path) -> bool:
    """Whether the folder is ours, and not one that somebody else calls so."""
    ignoring = root / NAME / ".gitignore"
    return ignoring.is_file() and ignoring.read_text("utf-8", "replace") in {IGNORING, _EARLIER}


def write_whole(path: Path, data: bytes) -> None:
    """Writes all of it or nothing, also on a full disk or after a kill."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", hint="make room, or the folder writable"
        ) from error
