from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.turns import CALC, SUB, World
from support.unconfined import without_sandbox
from verdigris.core.events import Proved, Proving
from verdigris.execution.room.rooms import possible
from verdigris.execution.tree_stability import on_start_tree

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from verdigris.execution.room.layers import Layer


def proving(world: World, *paths: str) -> AbstractContextManager[Layer | None]:
    """Edits of a turn, about to step aside."""
    start = world.project.workspace.snapshot()
    world.write("calc.py", CALC + SUB)
    world.write("extra.py", "Y = 1\n")
    edited = world.project.workspace.snapshot()
    return on_start_tree(world.project, start=start, edited=edited, paths=paths)


def test_where_a_room_can_be_nothing_is_touched(world: World) -> None:
    if not possible(world.project).ok:
        pytest.skip("no sandbox can be made here")
    with proving(world, "calc.py") as layer:
        assert layer is not None
        assert world.read("calc.py") == CALC + SUB
        assert world.project.workspace.read(layer.wanted, "calc.py") == CALC.encode()
        assert world.project.workspace.read(layer.wanted, "extra.py") == b"Y = 1\n", "no path of it"
    assert world.events(Proving, Proved) == []


def test_nothing_to_step_aside_is_nothing_to_show(world: World) -> None:
    with proving(world) as layer:
        assert layer is None


@pytest.fixture
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    without_sandbox(monkeypatch)


@pytest.mark.usefixtures("in_place")
class TestWithoutASandbox:
    def test_the_edits_step_aside_and_come_back(self, world: World) -> None:
        with proving(world, "calc.py", "extra.py") as layer:
            assert layer is None
            assert world.read("calc.py") == CALC
            assert not (world.root / "extra.py").exists()
            assert world.state.intent is not None
        assert (world.read("calc.py"), world.read("extra.py")) == (CALC + SUB, "Y = 1\n")
        assert world.state.intent is None
        assert world.events(Proved) == [Proved()]

    def test_they_come_back_when_the_run_raises(self, world: World) -> None:
        with pytest.raises(KeyboardInterrupt), proving(world, "calc.py"):
            raise KeyboardInterrupt
        assert world.read("calc.py") == CALC + SUB
        assert world.state.intent is None

    def test_nothing_to_step_aside_is_nothing_to_record(self, world: World) -> None:
        with proving(world):
            assert world.read("calc.py") == CALC + SUB
        assert world.events(Proving, Proved) == []

    def test_what_was_written_before_and_meanwhile_is_kept(self, world: World) -> None:
        turn = proving(world, "calc.py")
        world.write("calc.py", "# typed while we looked away\n")
        with turn:
            world.write("calc.py", "# typed during the run\n")
        assert world.read("calc.py") == CALC + SUB
        (proved,) = world.events(Proved)
        assert isinstance(proved, Proved)
        blobs = [told.rsplit(" ", 1)[1] for told in proved.displaced]
        kept = [world.project.workspace.blob_bytes(blob) for blob in blobs]
        assert kept == [b"# typed while we looked away\n", b"# typed during the run\n"]
