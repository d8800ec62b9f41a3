"""What a process left over from an agent's call does to the tree while nobody looks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import pytest

from support.shelled import Shelled, case, shelled
from support.turns import CALC, SUB, World
from support.unconfined import without_sandbox
from verdigris.core.events import Proved, Proving
from verdigris.execution.rooms import possible
from verdigris.execution.test_run import on_start_tree, stat_tree, touched_paths
from verdigris.storage.calls.open_calls import shared_inodes
from verdigris.storage.snapshots.listing import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.execution.room import Layer


TEST = "tests/test_add.py"
HOLDS = """
import mmap, sys
file = open(sys.argv[1], "r+b")
memory = mmap.mmap(file.fileno(), 0)
memory[:1] = memory[:1]
print("ready", flush=True)
for line in sys.stdin:
    memory[:1] = line[:1].encode()
    print("done", flush=True)
"""


@pytest.fixture
def memory_backed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelled]:
    """Where pages never get clean, so that only the first write through a mapping has a timestamp."""
    plain_user, why = case("root" if os.geteuid() == 0 else "user")
    if why or not os.access("/dev/shm", os.W_OK):
        pytest.skip(f"not possible here: {why}")
    folder = tempfile.mkdtemp(dir="/dev/shm")
    monkeypatch.setattr(tempfile, "tempdir", folder)
    try:
        with shelled(plain_user=plain_user) as made:
            yield made
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def holder(memory_backed: Shelled) -> Iterator[subprocess.Popen[bytes]]:
    """In red, where tests may be written; it lives as long as its call is open."""
    with holding(memory_backed, TEST) as process:
        yield process


@contextmanager
def holding(place: Shelled, mapped: str) -> Iterator[subprocess.Popen[bytes]]:
    file = place.folder / "holds.py"
    file.write_text(HOLDS)
    words = place.argv(f"exec {place.python} -I -S {file} {mapped}")
    process = subprocess.Popen(
        words,
        cwd=place.root,
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.communicate()


def store(holder: subprocess.Popen[bytes], letter: str) -> None:
    assert holder.stdin
    assert holder.stdout
    holder.stdin.write(f"{letter}\n".encode())
    holder.stdin.flush()
    assert holder.stdout.readline() == b"done\n"


def test_bytes_written_through_a_mapping_are_seen_though_no_stamp_tells(
    memory_backed: Shelled, holder: subprocess.Popen[bytes]
) -> None:
    workspace = memory_backed.world.project.workspace
    before, look = workspace.snapshot(), (memory_backed.root / TEST).stat()
    store(holder, "#")
    assert (memory_backed.root / TEST).stat().st_ctime_ns == look.st_ctime_ns
    assert [c.path for c in workspace.changes(before, workspace.snapshot())] == [TEST]


def test_a_file_that_is_mapped_elsewhere_puts_none_in_doubt(memory_backed: Shelled) -> None:
    workspace = memory_backed.world.project.workspace
    before = workspace.snapshot()
    with holding(memory_backed, "$(file=$(mktemp); echo x > $file; echo $file)"):
        assert shared_inodes(str(memory_backed.private))
        (memory_backed.root / TEST).write_text("X = 1\n")
        assert [c.path for c in workspace.changes(before, workspace.snapshot())] == [TEST]
        assert "doubted" not in str(load(memory_backed.private))


def test_also_when_the_one_who_wrote_them_is_gone(
    memory_backed: Shelled, holder: subprocess.Popen[bytes]
) -> None:
    workspace = memory_backed.world.project.workspace
    before = workspace.snapshot()
    store(holder, "#")
    holder.communicate()
    assert shared_inodes(str(memory_backed.private)) == frozenset()
    assert [c.path for c in workspace.changes(before, workspace.snapshot())] == [TEST]
    assert "doubted" not in str(load(memory_backed.private))


def test_a_tree_stands_still_only_if_nothing_was_touched_or_is_mapped(
    memory_backed: Shelled, holder: subprocess.Popen[bytes]
) -> None:
    project = memory_backed.world.project
    rows = stat_tree(project, project.workspace.snapshot())
    assert touched_paths(project, rows) == (TEST,)
    source = memory_backed.root / "src/pkg/code.py"
    text = source.read_text()
    source.write_text("swapped\n")
    source.write_text(text)
    (memory_backed.root / "tests/conftest.py").touch()
    (memory_backed.root / "tests/conftest.py").unlink()
    assert set(touched_paths(project, rows)) == {TEST, "src/pkg/code.py", "tests"}


def test_a_person_alone_is_not_looked_at(memory_backed: Shelled) -> None:
    project = memory_backed.world.project
    assert stat_tree(project, project.workspace.snapshot()) == []


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
