"""What `tdd uninit` takes away of a scaffold: all of it while nobody has worked in it, then nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from verdigris.core.errors import ConfigError, StorageError
from verdigris.core.events import Scaffolded, Unconfigured, decode
from verdigris.core.machine import MachineSettings
from verdigris.core.value import value
from verdigris.setup.making import digest, visible_files
from verdigris.storage.config import load_machine
from verdigris.storage.project import CONFIG, open_log
from verdigris.storage.repository import find_repository, read_plain

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from verdigris.storage.repository import Repository


@value
class Undone:
    scaffold: Literal["none", "removed", "kept"] = "none"
    worked: str = ""
    """Where it was kept: a file that shows work."""
    paths: tuple[str, ...] = ()
    """Where it was removed."""


def undo(start: Path) -> Undone:
    """Before the configuration goes, which names the kata."""
    repo = find_repository(start)
    written = _written(repo)
    there = {path: d for path, d in written.files.items() if (repo.root / path).is_file()}
    same = [path for path, d in there.items() if digest(read_plain(repo.root / path)) == d]
    worked = _worked(repo.root, there, same) if written.project else []
    if worked and there:
        return Undone("kept", worked[0])
    for path in same:
        _remove(repo.root, path)
    return Undone("removed" if same else "none", paths=tuple(same))


def _worked(root: Path, there: Collection[str], same: Collection[str]) -> list[str]:
    """What differs from the scaffold, or came to it; neither the kata nor the configuration is work in it."""
    kata = MachineSettings().kata
    with suppress(ConfigError):
        kata = load_machine(root).kata
    changed = [path for path in there if path not in same]
    more = [path for path in visible_files(root) if path not in there and (root / path).exists()]
    return [path for path in (*changed, *more) if path not in {CONFIG, kata}]


def _written(repo: Repository) -> Scaffolded:
    """By every `tdd init` since the last `tdd uninit`, as one that was interrupted is repeated."""
    files: dict[str, str] = {}
    project = False
    for record in open_log(repo).records(reverse=True):
        if record.type == Unconfigured.kind():
            break
        event = decode(record.type, record.data)
        if isinstance(event, Scaffolded):
            files, project = {**event.files, **files}, project or event.project
    return Scaffolded(files=files, project=project)


def _remove(root: Path, path: str) -> None:
    try:
        (root / path).unlink()
    except OSError as error:
        raise StorageError(f"{path} cannot be removed: {error.strerror}") from error
    with suppress(OSError):
        for folder in (root / path).parents:
            if folder == root:
                break
            folder.rmdir()
