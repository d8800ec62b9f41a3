"""Puts the texts of a run into the tree, and the tree back.

Whatever a run has of them, the files are the same to look at: as many bytes, the same times, the same inode.
"""

from __future__ import annotations

import contextlib
import os
import tokenize

_LEAST = 3
"""Bytes that every text is longer by at least: a line end and the beginning of a comment."""


class Unwritten(Exception):
    """A file that cannot be changed."""


class Written:
    """The files of all runs: written for one after the other, at the end as they were."""

    def __init__(self, root: str, runs: list[dict[str, str]]) -> None:
        self._kept: dict[str, tuple[bytes, os.stat_result]] = {}
        self._runs: list[dict[str, bytes]] = [{} for _ in runs]
        for path in {path for files in runs for path in files}:
            name = os.path.join(root, path)  # noqa: PTH118 - as everywhere here
            try:
                data, encoding, status = _read(name)
                texts = [files[path].encode(encoding, "surrogateescape") for files in runs]
            except (OSError, SyntaxError, UnicodeError, KeyError) as error:
                raise Unwritten(f"{path} cannot be changed: {error}") from None
            self._kept[name] = data, status
            size = max(map(len, texts)) + _LEAST + os.urandom(1)[0] % 32
            for number, text in enumerate(texts):
                self._runs[number][name] = _filled(text, size)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kept)

    def write(self, number: int) -> None:
        for name, data in self._runs[number].items():
            self._put(name, data)

    def put_back(self) -> None:
        for name, (data, _) in self._kept.items():
            with contextlib.suppress(OSError):
                self._put(name, data)

    def _put(self, name: str, data: bytes) -> None:
        try:
            with open(name, "r+b") as file:  # noqa: PTH123
                file.write(data)
                file.truncate()
        except OSError as error:
            raise Unwritten(f"{name} cannot be changed: {error}") from None
        for attribute in os.listxattr(name) if hasattr(os, "listxattr") else ():
            with contextlib.suppress(OSError):
                os.removexattr(name, attribute)
        status = self._kept[name][1]
        os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns))


def _read(name: str) -> tuple[bytes, str, os.stat_result]:
    with open(name, "rb") as file:  # noqa: PTH123
        encoding, _ = tokenize.detect_encoding(file.readline)
        file.seek(0)
        return file.read(), "utf-8" if encoding == "utf-8-sig" else encoding, os.stat(name)  # noqa: PTH116


def _filled(text: bytes, size: int) -> bytes:
    """With a comment at its end; how long it is tells nothing, as every text has one."""
    text += b"" if text.endswith(b"\n") else b"\n"
    return text + b"#".ljust(size - len(text), b"-")
