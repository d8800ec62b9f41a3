"""The memory of a worker, made ready for its thousands of forks.

A fork copies the table of all pages, and then each page that either side writes to. A worker that has
collected the whole suite has forty thousand of them, with holes all over where something was freed: whatever
is made next lies in holes, and each costs a page. So holes are filled, and pages are joined to large ones,
of which the kernel copies only what is written to. A fork with work on both sides takes half as long.
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
"""Of the allocator's own table: the size of a block, and how many of that size are free."""
_BYTES_AROUND = 33
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25
_fillings: list[object] = []


def settle_memory() -> None:
    """What is loaded by now stays: nobody looks through it for garbage, and nothing new is put among it."""
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
    """Nothing where the interpreter's allocator is another, or does not tell."""
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
    """A kernel that cannot do so says no, and all is as before."""
    advise = ctypes.CDLL(None).madvise
    for line in Path("/proc/self/maps").read_text("utf-8", "replace").splitlines():
        place, rights, _, _, file, *_ = line.split()
        if rights == "rw-p" and file == "0":
            start, end = (int(text, 16) for text in place.split("-"))
            for advice in (_MADV_HUGEPAGE, _MADV_COLLAPSE):
                advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), advice)
