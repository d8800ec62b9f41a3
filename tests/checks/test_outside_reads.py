"""What source reads outside the worktree is named, and may not change between claim and verdict."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, World, make_world
from verdigris.core.verdict import Kind
from verdigris.sandbox import child

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not child.available().ok, reason="no sandbox can be made here")

WAYS = {
    "open": "int(open(PLACE).read())",
    "path": "int(pathlib.Path(PLACE).read_text())",
    "time": "int(os.stat(PLACE).st_mtime) % 10",
    "getmtime": "int(os.path.getmtime(PLACE)) % 10",
    "above": "int(open(os.path.join(os.path.dirname(__file__), '..', 'style')).read())",
    "posix": "int(__import__('posix').stat(PLACE).st_mtime) % 10",
    "command": "int(subprocess.run(['cat', PLACE], capture_output=True).stdout)",
}
IMPORTS = "import os\nimport pathlib\nimport subprocess\n\nPLACE = {place!r}\n"


def sub_that_reads(world: World, way: str) -> str:
    place = str(world.root.parent / "style")
    return f"{IMPORTS.format(place=place)}{CALC}\n\ndef sub(a, b):\n    return {way} + 0 * a\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path / "repo")
    lay(made, "2", 1_700_000_002)
    made.green()
    return made


def lay(world: World, text: str, seconds: int) -> None:
    style = world.root.parent / "style"
    style.write_text(text, encoding="ascii")
    os.utime(style, (seconds, seconds))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_file_that_source_reads_is_named_with_the_line(world: World, way: str) -> None:
    world.write("calc.py", sub_that_reads(world, way))
    verdict = world.settle().verdict
    assert verdict.accepted
    what = "which is no part of the project; it may not change between claim and verdict"
    named = [line for line in verdict.concerns if ": outside: " in line]
    assert named == [f"calc.py:11: outside: it reads ../style, {what}"]


def test_what_came_after_the_claim_is_no_foundation(world: World) -> None:
    world.write("calc.py", sub_that_reads(world, WAYS["time"]))
    lay(world, "2", 1_700_000_002)
    verdict = world.settle().verdict
    assert verdict.kind is Kind.TAMPERED
    assert verdict.reasons == (f"{world.root.parent}/style changed since the claim; the tests run on it",)


def test_after_a_new_red_the_file_counts_with_its_time(world: World) -> None:
    world.write("calc.py", sub_that_reads(world, WAYS["time"]))
    lay(world, "2", 1_700_000_001)
    assert world.settle().verdict.kind is Kind.TAMPERED
    world.test("tests/test_sub.py::test_sub")
    lay(world, "2", 1_700_000_002)
    assert world.settle().verdict.kind is Kind.TAMPERED
    world.test("tests/test_sub.py::test_sub")
    assert world.settle().verdict.accepted


def test_what_this_source_does_not_read_may_change(world: World) -> None:
    world.write("calc.py", sub_that_reads(world, WAYS["open"]))
    assert world.settle().verdict.accepted
    world.write("tests/test_mul.py", "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n")
    world.claimed("tests/test_mul.py::test_mul")
    lay(world, "5", 1_700_000_009)
    world.write(
        "calc.py", f"{CALC}\n\ndef sub(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"
    )
    assert world.settle().verdict.accepted


HONEST = """
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zoneinfo

HERE = pathlib.Path(__file__).resolve().parent


def sub(a, b):
    zoneinfo.ZoneInfo("Europe/Berlin")
    json.loads("{}")
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    shutil.which("sh")
    any((folder / "pyproject.toml").exists() for folder in (HERE, *HERE.parents))
    any(folder.is_dir() for folder in HERE.parents)
    os.path.expanduser("~/.config/app.toml")
    os.makedirs(os.path.join(tempfile.gettempdir(), "cache"), exist_ok=True)
    with tempfile.NamedTemporaryFile("w+") as file:
        file.write("x")
        file.flush()
        open(file.name).close()
    open(os.devnull).close()
    return a - b
"""


def test_the_system_its_own_files_and_looking_for_a_folder_are_silent(world: World) -> None:
    world.write("calc.py", CALC + HONEST)
    verdict = world.settle().verdict
    assert verdict.accepted
    assert [line for line in verdict.concerns if "outside" in line] == []


def test_what_a_test_reads_itself_is_not_the_sources(tmp_path: Path) -> None:
    world = make_world(tmp_path / "repo")
    lay(world, "2", 1_700_000_002)
    place = str(tmp_path / "style")
    world.write(
        "tests/test_sub.py",
        f"import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == int(open({place!r}).read())\n",
    )
    world.claimed()
    world.write("calc.py", f"{CALC}\n\ndef sub(a, b):\n    return a - b\n")
    verdict = world.settle().verdict
    assert (verdict.accepted, [line for line in verdict.concerns if "outside" in line]) == (True, [])
