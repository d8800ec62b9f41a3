"""Rewrites test files once, before the workers start: in a fresh checkout each worker would do it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from _pytest.assertion import rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest


def rewrite_tests(config: pytest.Config) -> None:
    """If this fails, the workers do it, as usual; pytest has no public function for it."""
    places = [Path(word.partition("::")[0]).resolve() for word in config.args]
    files = sorted({file for place in places for file in _test_files(place)})
    cores = os.cpu_count() or 1
    children = [_start(config, files[number::cores]) for number in range(cores)]
    for child in children:
        os.waitpid(child, 0)


def _test_files(place: Path) -> list[Path]:
    return list(place.rglob("test_*.py")) if place.is_dir() else [place]


def _start(config: pytest.Config, files: Sequence[Path]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for file in files:
            with suppress(OSError, SyntaxError, ValueError):
                _rewrite(config, file)
    finally:
        os._exit(0)


def _rewrite(config: pytest.Config, file: Path) -> None:
    folder = rewrite.get_cache_dir(file)
    kept = folder / f"{file.stem}{rewrite.PYC_TAIL}"
    if rewrite._read_pyc(file, kept) is None and rewrite.try_makedirs(folder):
        about, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, about, kept)
