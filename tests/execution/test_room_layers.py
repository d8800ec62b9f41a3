from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.turns import CALC, SUB, World
from verdigris.execution.room import Layer, Room
from verdigris.execution.rooms import possible, room


@pytest.fixture(autouse=True)
def confined(world: World) -> None:
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")


def ran(made: Room, world: World, command: str) -> bytes:
    argv = ["sh", "-ec", command]
    done = subprocess.run(
        argv, cwd=world.root, env=made.env, preexec_fn=made.confine, capture_output=True, check=True
    )
    return done.stdout


def shown(world: World, wanted: str, worktree: str, command: str) -> bytes:
    with room(world.project, layer=Layer(wanted, worktree)) as made:
        return ran(made, world, command)


def test_only_what_differs_is_written_and_the_worktree_is_not_touched(world: World) -> None:
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    world.write("new/deep/extra.py", "Y = 1\n")
    (world.root / "conftest.py").chmod(0o755)
    edited = world.project.workspace.snapshot()
    before = {path: path.stat().st_mtime_ns for path in world.root.rglob("*.py")}
    with room(world.project, layer=Layer(start, edited)) as made:
        assert made.confinement.removed == ("new", "new/deep", "new/deep/extra.py")
        command = "cat calc.py; test ! -e new; test ! -x conftest.py"
        assert ran(made, world, command) == CALC.encode()
        assert made.memory is not None
        assert made.memory.is_made()
        laid = Path(made.memory.outside(made.folders.layer))
        assert sorted(p.name for p in laid.rglob("*") if p.is_file()) == ["calc.py", "conftest.py"]
        assert made.wrote(world.project.classify) == (), "laying is not the run's writing"
    assert {path: path.stat().st_mtime_ns for path in world.root.rglob("*.py")} == before


def test_a_file_where_a_folder_was_and_the_other_way_round(world: World) -> None:
    world.write("thing/inner.txt", "inner")
    world.write("other", "a file")
    start = world.project.workspace.snapshot()
    for name in ("thing/inner.txt", "other"):
        (world.root / name).unlink()
    (world.root / "thing").rmdir()
    world.write("thing", "a file now")
    world.write("other/inner.txt", "inner now")
    edited = world.project.workspace.snapshot()
    assert shown(world, start, edited, "cat thing/inner.txt other") == b"innera file"
    assert shown(world, edited, edited, "cat thing other/inner.txt") == b"a file nowinner now"


def test_links_and_names_of_any_bytes(world: World) -> None:
    odd = os.fsdecode(b"odd \xff\n'name")
    world.write(odd, "odd")
    (world.root / "link").symlink_to("calc.py")
    start = world.project.workspace.snapshot()
    (world.root / odd).unlink()
    (world.root / "link").unlink()
    edited = world.project.workspace.snapshot()
    assert shown(world, start, edited, "readlink link; cat odd*") == b"calc.py\nodd"
    assert not (world.root / "link").is_symlink()


def test_a_folder_that_still_holds_something_of_the_users_stays(world: World) -> None:
    start = world.project.workspace.snapshot()
    world.write("data/code.py", "X = 1\n")
    edited = world.project.workspace.snapshot()
    world.write("data/untracked.bin", "kept")
    assert shown(world, start, edited, "ls data") == b"untracked.bin\n"


def test_what_is_hidden_is_not_found_unless_a_link_leads_there(world: World) -> None:
    world.write(".gitignore", "modules\nlinked\n")
    world.write("modules/.cache/poison", "x")
    world.write("modules/kept", "x")
    elsewhere = world.root.parent / "elsewhere"
    (elsewhere / ".cache").mkdir(parents=True)
    (world.root / "linked").symlink_to(elsewhere)
    tree = world.project.workspace.snapshot()
    layer = Layer(tree, tree, hidden=("modules/.cache", "linked/.cache", "never/was"))
    with room(world.project, layer=layer) as made:
        assert ran(made, world, "ls -A modules linked") == b"linked:\n.cache\n\nmodules:\nkept\n"
        assert made.wrote(world.project.classify) == ()
    assert (world.root / "modules/.cache/poison").exists()
    assert (elsewhere / ".cache").exists()


def test_laid_files_show_the_times_they_are_given(world: World) -> None:
    tree = world.project.workspace.snapshot()
    firm = tuple(e for e in world.project.workspace.files(tree) if e.path in {"calc.py", "conftest.py"})
    layer = Layer(tree, tree, firm, dates={"calc.py": 1_700_000_000 * 10**9})
    with room(world.project, layer=layer) as made:
        assert ran(made, world, "stat -c %Y calc.py conftest.py") == b"1700000000\n1000000000\n"
