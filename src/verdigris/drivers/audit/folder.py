"""Where an audit keeps its files: in the user's cache, never in the repository."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import StorageError
from verdigris.core.value import replace, value

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.storage.repository import Repository

DRIVER = "audit"


@value
class AuditFolder:
    path: Path

    def repository(self, repo: Repository, job: int = 0) -> Repository:
        """The user's, with the kernel's files in this folder; each job has an index and locks of its own."""
        return replace(repo, apart=self.path / "kernel", worktree=f"job-{job}")

    def read(self, kind: str, key: str) -> Any | None:
        """What was kept under a key; None where nothing was, or what is there cannot be read."""
        try:
            return json.loads(self._file(kind, key).read_bytes())
        except (OSError, ValueError):
            return None

    def keep(self, kind: str, key: str, data: Any) -> None:
        """Whole or not at all: a kill leaves no half of a file under the name."""
        file = self._file(kind, key)
        draft = _draft_of(file)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(data), "utf-8")
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise _not_kept(file, error) from error

    def share(self, kind: str, known: str, same: str) -> bool:
        """Keeps under another key what is kept under the first; whether there is anything."""
        from shutil import copyfile

        source, file = self._file(kind, known), self._file(kind, same)
        if not source.exists():
            return False
        draft = _draft_of(file)
        try:
            try:
                os.link(source, draft)  # nobody writes into it: what is kept anew is another file
            except OSError:
                copyfile(source, draft)
            draft.replace(file)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise _not_kept(file, error) from error
        return True

    def _file(self, kind: str, key: str) -> Path:
        return self.path / kind / f"{key}.json"


def _draft_of(file: Path) -> Path:
    return file.with_name(f".{file.name}.{os.getpid()}.{os.urandom(4).hex()}")


def _not_kept(file: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the audit cannot keep {file}: {error.strerror}",
        hint="set XDG_CACHE_HOME to a folder that can be written and has room",
    )


def find_folder(repo: Repository) -> AuditFolder:
    from verdigris.drivers.private_worktree import place

    folder = AuditFolder(place(repo, DRIVER, repo.worktree).parent)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"the audit's folder {folder.path} cannot be made: {error.strerror}",
            hint="set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return folder
