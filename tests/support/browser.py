"""Headless Chromium, if there is one."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
)
_SIGNATURE = 8


def run_chromium(folder: Path, *arguments: str) -> str:
    """What the browser prints; skips the test with a reason if there is no browser."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(
            "no Chromium here: `apt-get install chromium` brings it, and this test then looks at the page"
        )
    home = f"--user-data-dir={folder / 'chromium'}"
    call = (program, *_QUIET, home, *arguments)
    ran = subprocess.run(call, capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def first_pixel(png: Path) -> tuple[int, int, int]:
    """The colour of the upper left corner, which PNG's filters leave unchanged."""
    data, at, packed = png.read_bytes(), _SIGNATURE, b""
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += size + 12
    row = zlib.decompress(packed)
    return row[1], row[2], row[3]
