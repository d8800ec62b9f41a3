"""What a process left over from an agent's call does to the tree while nobody looks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

import pytest

from support.shelled import Shelled, case, shelled
from verdigris.execution.tree_stability import stat_tree, touched_paths
from verdigris.storage.snapshots import mapped

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    file = memory_backed.folder / "holds.py"
    file.write_text(HOLDS)
    words = memory_backed.argv(f"exec {memory_backed.python} -I -S {file} {TEST}")
    process = subprocess.Popen(
        words,
        cwd=memory_backed.root,
        env=memory_backed.environment,
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


def test_also_when_the_one_who_wrote_them_is_gone(
    memory_backed: Shelled, holder: subprocess.Popen[bytes]
) -> None:
    workspace = memory_backed.world.project.workspace
    before = workspace.snapshot()
    store(holder, "#")
    holder.communicate()
    assert mapped.shared_inodes(memory_backed.private) == frozenset()
    assert [c.path for c in workspace.changes(before, workspace.snapshot())] == [TEST]
    assert mapped.read_note(memory_backed.private) == []


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
