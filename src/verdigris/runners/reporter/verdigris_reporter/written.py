"""Puts the texts of a variant into the tree, and the tree back."""

from __future__ import annotations

import os
import tokenize


class Unwritten(Exception):
    """A file that cannot be changed."""


class Written:
    """The files as the variant has them; each time a version of its own to whoever keeps byte code."""

    def __init__(self, root: str, files: dict[str, str], index: int) -> None:
        self._root = root
        self._files = files
        self._index = index
        self._kept: list[tuple[str, bytes, os.stat_result]] = []

    def __enter__(self) -> Written:  # noqa: PYI034 - `Self` is not in every Python that runs this
        for path, text in self._files.items():
            name = os.path.join(self._root, path)  # noqa: PTH118 - as everywhere here
            try:
                self._kept.append(_write(name, text, self._index))
            except (OSError, SyntaxError, UnicodeError) as error:
                self.__exit__()
                raise Unwritten(f"{path} cannot be changed: {error}") from None
        return self

    def stay(self) -> None:
        """In a child: the files are its parent's to put back."""
        self._kept.clear()

    def __exit__(self, *error: object) -> None:
        for name, data, status in self._kept:
            with open(name, "wb") as file:  # noqa: PTH123
                file.write(data)
            os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


def _write(name: str, text: str, index: int) -> tuple[str, bytes, os.stat_result]:
    with open(name, "rb") as file:  # noqa: PTH123
        encoding, _ = tokenize.detect_encoding(file.readline)
        file.seek(0)
        kept = name, file.read(), os.stat(name)  # noqa: PTH116
    data = text.encode("utf-8" if encoding == "utf-8-sig" else encoding, "surrogateescape")
    with open(name, "r+b") as file:  # noqa: PTH123
        file.truncate()
        file.write(data)
    seconds = int(kept[2].st_mtime) + 60 * (index + 1)
    os.utime(name, (seconds, seconds))
    return kept
