"""Folders that are kept."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.execution.tools.build import cache_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_words_lead_to_the_same_folder(tmp_path: Path) -> None:
    first = cache_folder(tmp_path, "cargo", ["a"])
    assert cache_folder(tmp_path, "cargo", ["a"]) == first
    assert cache_folder(tmp_path, "cargo", ["b"]) != first


def test_those_used_least_lately_go(tmp_path: Path) -> None:
    folders = [cache_folder(tmp_path, "cargo", [str(number)]) for number in range(3)]
    for age, folder in enumerate(folders):
        (folder / "deep").mkdir()
        os.utime(folder, (age, age))
    cache_folder(tmp_path, "cargo", ["0"])
    cache_folder(tmp_path, "cargo", ["new"])
    assert [folder.is_dir() for folder in folders] == [True, False, True]
