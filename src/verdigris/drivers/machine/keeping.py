"""What people read of a run: `.tdd/plan/step-N-role.md` and `.tdd/logs/step-N-role.json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import StorageError

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.models.roles.role import Role
    from verdigris.models.secrets import Scrubber

FOLDER = ".tdd"
IGNORING = "# made by `tdd run`; nothing in here is for git\n*\n"


class Keeper:
    """The folder ignores itself, so that nobody's `.gitignore` is touched and no tree is dirtied."""

    def __init__(self, root: Path, scrub: Scrubber) -> None:
        self._folder = root / FOLDER
        self._scrub = scrub
        self._write(self._folder / ".gitignore", IGNORING)

    def plan(self, step: int, role: Role, text: str) -> None:
        self._write(
            self._folder / "plan" / f"step-{step}-{role}.md", f"# Step {step}: {role}\n\n{text.strip()}\n"
        )

    def log(self, step: int, role: Role, document: dict[str, Any]) -> None:
        text = json.dumps(self._scrub.document(document), indent=2, ensure_ascii=False)
        self._write(self._folder / "logs" / f"step-{step}-{role}.json", f"{text}\n")

    def _write(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f"{path.name}.new")
            new.write_text(self._scrub(text), "utf-8", errors="backslashreplace")
            new.replace(path)
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}", hint="make room, or the folder writable"
            ) from error
