from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import World, make_world
from verdigris.checks import source_edits
from verdigris.checks.observation import difference
from verdigris.checks.source_edits import Edits, find_edits
from verdigris.core.actions import Unclaimed

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.core.paths import Change

MODULES = {f"m{n:02}.py": f"def f(a):\n    return a+{n}\n" for n in range(30)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "repo", **MODULES)


def changes(world: World, old: str, new: str) -> tuple[Change, ...]:
    before = world.project.workspace.snapshot()
    for name, text in MODULES.items():
        world.write(name, text.replace(old, new))
    return difference(world.project, before, world.project.workspace.snapshot()).source


def test_what_was_reformatted_is_no_edit_and_is_read_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = changes(world, "a+", "a + ")
    assert len(found) == len(MODULES)
    assert find_edits(world.project, found, world.project.workspace.snapshot()) == Edits(())
    monkeypatch.setattr(source_edits, "is_same_tree", lambda *_: pytest.fail("read again"))
    assert find_edits(world.project, found, world.project.workspace.snapshot()) == Edits(())


def test_edits_are_found_up_to_the_limit(world: World) -> None:
    found = changes(world, "a+", "a-")
    assert len(find_edits(world.project, found, world.project.workspace.snapshot()).found) == len(MODULES)
    some = find_edits(world.project, found, world.project.workspace.snapshot(), limit=2)
    assert [edit.path for edit in some.found] == ["m00.py", "m01.py"]
    assert some.unread == tuple(sorted(MODULES))[2:]


def test_what_there_is_no_time_for_is_named(world: World) -> None:
    found = changes(world, "a+", "a + ")
    late = find_edits(world.project, found, world.project.workspace.snapshot(), seconds=0)
    assert late == Edits((), tuple(sorted(MODULES))[1:])


def test_a_deleted_file_and_a_lost_memory(world: World) -> None:
    before = world.project.workspace.snapshot()
    (world.root / "m00.py").unlink()
    (world.project.repo.private / source_edits.REMEMBERED).write_bytes(b"\xff\n")
    found = difference(world.project, before, world.project.workspace.snapshot()).source
    assert find_edits(world.project, found, world.project.workspace.snapshot()).found == (
        Unclaimed("m00.py", 1, "it was deleted"),
    )
