"""Writes files that survive a kill: as a whole, or by appending JSON lines. Also makes the folder `.tdd`."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from verdigris.core.errors import StorageError, UserError, storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


TDD_FOLDER = ".tdd"
PRIVATE = ("plan", "logs", "cycle", "holdout", ".gitignore")
"""Names in `.tdd` that are not committed; plans and evidence of cycles are."""
IGNORING = "# made by `tdd`; evidence/ and plans/ are for git, the rest is not\n" + "".join(
    f"/{name}\n" for name in PRIVATE
)
_EARLIER = "# made by `tdd run`; nothing in here is for git\n*\n"


def prepare_folder(root: Path) -> Path:
    """Makes the folder with its own `.gitignore`: the user's is not changed, and the tree stays clean."""
    folder = root / TDD_FOLDER
    ignoring = folder / ".gitignore"
    if not ignoring.is_file() or ignoring.read_text("utf-8", "replace") == _EARLIER:
        write_whole(ignoring, IGNORING.encode())
    return folder


def is_made_here(root: Path) -> bool:
    """Whether we made the folder."""
    ignoring = root / TDD_FOLDER / ".gitignore"
    return ignoring.is_file() and ignoring.read_text("utf-8", "replace") in {IGNORING, _EARLIER}


def read_whole(path: Path) -> str | None:
    """The text of a file, line ends unchanged; None if there is none."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path.name} cannot be read: {error}", hint="repair it, then try again") from None


def write_whole(path: Path, data: bytes) -> None:
    """Writes the whole file or nothing, also on a full disk or after a kill."""
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(data)
        new.replace(path)
    except OSError as error:
        with suppress(OSError):
            new.unlink()
        raise storage_error(f"{path} cannot be written", error, path.parent) from error


def append_line(path: Path, document: Mapping[str, Any], *, header: Mapping[str, Any]) -> None:
    """Appends a line, after the header if the file is new; a last line that a kill tore is removed."""
    line = json.dumps(document).encode() + b"\n"
    try:
        with path.open("ab") as file:
            whole = _whole_size(path, file.tell())
            file.truncate(whole)
            file.write(line if whole else json.dumps(header).encode() + b"\n" + line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}", hint="make room there") from None


def _whole_size(path: Path, end: int) -> int:
    """The size of a file without a last line that was torn."""
    with path.open("rb") as file:
        file.seek(max(0, end - 1))
        if file.read(1) in {b"", b"\n"}:
            return end
        file.seek(0)
        return file.read().rfind(b"\n") + 1


def read_lines(path: Path, *, header: Mapping[str, Any], what: str, hint: str) -> Iterator[tuple[int, Any]]:
    """The number and document of each line after the header, without a torn last one.

    `what` names the file.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(
            f"cannot read {what} {path}: {error.strerror}", hint="make it readable, or name another file"
        ) from None
    if not _is(lines[0], header):
        raise UserError(f"{path} is not {what}", hint=hint)
    for number, line in enumerate(lines[1:-1], start=2):
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise UserError(f"line {number} of {what} {path} cannot be read: {error!r}", hint=hint) from None


def _is(line: bytes, header: Mapping[str, Any]) -> bool:
    try:
        return bool(json.loads(line) == header)
    except ValueError:
        return False
