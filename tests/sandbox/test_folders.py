# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH102, PTH208

from __future__ import annotations

import os
from pathlib import Path

from support.cage import Cage
from verdigris.sandbox.folders import clear

CLEAR = """
import sys
from verdigris.sandbox.folders import clear
clear(f"{sys.argv[1]}/upper")
clear(f"{sys.argv[1]}/work")
"""


def test_what_a_run_has_left_is_thrown_away(caged: Cage) -> None:
    caged.write("root/src/a.py")
    command = """
        rm src/a.py; ln -s / top; mkfifo pipe
        mkdir -p a/b closed; : > a/b/c; : > closed/x
        chmod 000 a/b a; chmod 500 closed .
    """
    assert caged.run("sh", "-ec", command).code == 0
    assert (caged.folder / "work/work").exists()
    done = caged.unconfined(CLEAR, str(caged.folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert [os.listdir(caged.folder / name) for name in ("upper", "work")] == [[], []]


def test_very_deep_folders(tmp_path: Path) -> None:
    start = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(1100):
            os.mkdir("d" * 50)
            os.chdir("d" * 50)
    finally:
        os.chdir(start)
    clear(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_no_link_is_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "inner").mkdir(parents=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(kept)
    clear(str(folder))
    assert (kept / "inner").exists()
