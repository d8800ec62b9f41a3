from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.turns import World
from verdigris.core.surroundings import Surroundings
from verdigris.core.value import replace
from verdigris.execution.places import find_needed_by_tools, find_places_of_users
from verdigris.execution.room import Layer
from verdigris.execution.rooms import possible, room

OTHER = Surroundings({"TZ": "East"}, frozenset({"COLUMNS"}), "/tmp/mira", "localhost", alone=True)


@pytest.fixture(autouse=True)
def confined(world: World) -> None:
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")


def said(world: World, code: str, around: Surroundings = OTHER) -> str:
    tree = world.project.workspace.snapshot()
    argv = [sys.executable, "-c", code]
    with room(world.project, argv, layer=Layer(tree, tree, around=around)) as made:
        done = subprocess.run(
            argv, cwd=world.root, env=made.env, preexec_fn=made.confine, capture_output=True, check=True
        )
        assert made.wrote(world.project.classify) == ()
    return done.stdout.decode().strip()


def test_nothing_lies_outside_but_the_worktree_and_the_tools(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "answers"
    outside.write_text("2")
    code = f"import os, json; print(os.path.exists({str(outside)!r}), os.path.exists('calc.py'))"
    assert said(world, code, Surroundings()) == "True True"
    assert said(world, code) == "False True"


def test_home_and_temporary_folder_are_writable_and_plain(world: World) -> None:
    code = (
        "import os, tempfile; open(os.path.expanduser('~/x'), 'w').close();"
        " tempfile.TemporaryFile().close();"
        " print(os.path.expanduser('~'), tempfile.gettempdir(), os.environ['TZ']);"
        " print('x' in (names := os.listdir(os.environ['HOME'])), '.bashrc' in names)"
    )
    assert said(world, code) == "/tmp/mira /tmp East\nTrue True"


def test_the_machine_has_another_name_where_that_can_be(world: World) -> None:
    assert said(world, "import os; print(os.uname().nodename)") in {"localhost", os.uname().nodename}
    assert said(world, "import os; print(os.uname().nodename)", Surroundings()) == os.uname().nodename


def test_a_home_outside_the_temporary_folder_is_made_where_nothing_is_written(world: World) -> None:
    around = replace(OTHER, home="/home/mira-of-a-test", alone=False)
    if "/home" not in find_places_of_users(""):
        pytest.skip("there is no folder of homes")
    assert said(world, "import os; print(os.path.isdir(os.environ['HOME']))", around) == "True"
    assert not Path("/home/mira-of-a-test").exists()


def test_tools_are_needed_and_not_what_lies_beside_them(tmp_path: Path) -> None:
    program, link = tmp_path / "made/bin/tool", tmp_path / "on/way/tool"
    for path in (program, link):
        path.parent.mkdir(parents=True)
    program.touch()
    link.symlink_to(program)
    (tmp_path / "first").symlink_to(link)
    env = {"PATH": f"{tmp_path}/programs/bin", "TOOL_HOME": str(tmp_path / "tool"), "HOME": str(tmp_path)}
    for name in ("programs/bin", "tool", "other"):
        (tmp_path / name).mkdir(parents=True)
    found = {*find_needed_by_tools([str(tmp_path / "first")], env, [str(tmp_path)])}
    names = {path.removeprefix(f"{tmp_path}/") for path in found}
    assert names == {"programs", "tool", "on", "on/way", "made", "made/bin"}
