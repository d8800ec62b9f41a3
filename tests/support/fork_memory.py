"""Prepares the memory of a worker for its thousands of forks.

A fork copies the table of all pages, and then each page that one side writes to. A worker that has collected
the whole suite has forty thousand pages, with many free blocks between the used ones. New objects go into
these free blocks, and each such write copies a page. So we fill the free blocks, and join the pages to large
ones, of which the kernel copies only the parts that are written to. A fork with work on both sides then takes
half as long.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import sys
import tempfile
from pathlib import Path

_ROW = re.compile(r"^ *\d+ +(\d+) +\d+ +\d+ +(\d+)$", re.MULTILINE)
"""A row of the allocator's own table: the size of a block, and how many blocks of that size are free."""
_BYTES_AROUND = 33
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25
_fillings: list[object] = []


def settle_memory() -> None:
    """Exempt all present objects from garbage collection, and fill the free blocks between them."""
    gc.collect()
    gc.freeze()
    _fill_holes()
    gc.freeze()
    _join_pages()


def _fill_holes() -> None:
    for size, free in _free_blocks().items():
        if size > _BYTES_AROUND:
            _fillings.append([bytes(size - _BYTES_AROUND) for _ in range(free)])


def _free_blocks() -> dict[int, int]:
    """Size of a block → number of free blocks; empty if the interpreter's allocator does not report them."""
    tell = getattr(sys, "_debugmallocstats", None)
    if tell is None:
        return {}
    with tempfile.TemporaryFile() as file:
        errors = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            tell()
        finally:
            os.dup2(errors, 2)
            os.close(errors)
        file.seek(0)
        return {int(size): int(free) for size, free in _ROW.findall(file.read().decode("ascii", "replace"))}


def _join_pages() -> None:
    """Ask for large pages; a kernel that does not support that refuses, and nothing changes."""
    advise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text("utf-8", "replace").splitlines():
        place, rights, _, _, file, *_ = line.split()
        if rights == "rw-p" and file == "0":
            start, end = (int(text, 16) for text in place.split("-"))
            for advice in (_MADV_HUGEPAGE, _MADV_COLLAPSE):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)
