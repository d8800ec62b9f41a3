"""The user's own git with the user's own configuration: hooks, filters and signing behave as they say."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError
from verdigris.core.value import value
from verdigris.storage.git import not_started, program

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

REDIRECTING = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"}
)
"""Variables that would move another repository than the one that is looked at afterwards."""
_REDIRECTING = REDIRECTING | {"GIT_REFLOG_ACTION", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX"}


@value
class Said:
    code: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        """All that it printed, for a person."""
        return "\n".join(part for part in (self.out.strip(), self.err.strip()) if part)


def git(
    root: Path,
    *arguments: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    held: int | None = None,
) -> Said:
    """`hidden` variables are not handed on; `held` is a lock that git goes on holding if we are killed."""
    kept = {
        name: text for name, text in os.environ.items() if name not in _REDIRECTING and name not in hidden
    }
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_LITERAL_PATHSPECS": "1"}
    try:
        done = subprocess.run(
            [program(kept), *arguments],
            cwd=root,
            env={**kept, **quiet, **(env or {})},
            input=os.fsencode(stdin),
            capture_output=True,
            check=False,
            pass_fds=() if held is None else (held,),
        )
    except FileNotFoundError:
        raise not_started(root) from None
    return Said(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def asked(root: Path, *arguments: str) -> str:
    """What git says, without the last line's end; that it does not is an error."""
    said = git(root, *arguments)
    if not said.ok:
        raise StorageError(
            f"`git {' '.join(arguments)}` failed: {said.err.strip()}",
            hint="`tdd doctor` checks the repository",
        )
    return said.out.removesuffix("\n")
