"""A disk of a few megabytes that a test can fill."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str = "8m") -> Iterator[Path]:
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", os.fspath(place)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def fill_disk(disk: Path, left: int = 0) -> Path:
    """A file that fills the disk except for `left` bytes."""
    free = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - left)))
    return filler
