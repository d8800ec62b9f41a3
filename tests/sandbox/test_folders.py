# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH102, PTH208

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.sandbox.confinement import Confinement
from verdigris.sandbox.folders import clear, discard

if TYPE_CHECKING:
    from support.cage import Cage

DISCARD = """
import sys
from verdigris.sandbox import Confinement, discard
folder = sys.argv[1]
discard(Confinement(f"{folder}/root", f"{folder}/upper", f"{folder}/work"))
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
    done = caged.unconfined(DISCARD, str(caged.folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(os.listdir(caged.folder)) == ["home", "outside", "root"]


def test_what_is_gone_already_is_as_good(tmp_path: Path) -> None:
    discard(Confinement(str(tmp_path), str(tmp_path / "upper"), str(tmp_path / "work")))


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
