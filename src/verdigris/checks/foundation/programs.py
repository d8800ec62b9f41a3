"""The programs that `check`, `format` and `verify` name, with the packages that their scripts start."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.checks.foundation.watched import package_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.core.settings import Stack

_STARTS = re.compile(rb"^(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)
_SCRIPT = 1 << 14
"""Bytes beyond which a program is none that an installer wrote."""


def programs(stack: Stack, root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Files by path: what a command's words lead to outside of git's sight, a script's package with it."""
    folder = os.path.normpath(root / stack.root)
    for command in (stack.check, stack.format, stack.verify):
        for word in _words(command or ""):
            found = _found(word, folder, environ.get("PATH", os.defpath))
            if found is not None:
                yield found
                yield from _started(Path(found))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace(";", " ; "), comments=True)
    except ValueError:
        return command.split()


def _found(word: str, folder: str, path: str) -> str | None:
    if "/" not in word:
        return shutil.which(word, path=path)
    found = os.path.normpath(os.path.join(folder, word))  # noqa: PTH118 - text in, text out
    return found if os.path.isfile(found) and os.access(found, os.X_OK) else None  # noqa: PTH113 - same


def _started(program: Path) -> Iterator[str]:
    """Of an environment's script such as `mypy`: the modules that it imports first."""
    try:
        with program.open("rb") as file:
            text = file.read(_SCRIPT)
    except OSError:
        return
    if not text.startswith(b"#!"):
        return
    for packages in program.parent.parent.glob("lib/python*/site-packages"):
        for name in {found.decode() for found in _STARTS.findall(text)}:
            yield from package_files(f"{packages}/{name}")
