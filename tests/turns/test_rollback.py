from __future__ import annotations

from pathlib import Path

from support.killing import rehearse
from support.turns import CALC, TEST_ADD, World
from verdigris.core.events import PutBack, PuttingBack, Violation
from verdigris.turns.rollback import put_back

ADD = "tests/test_add.py"
PATHS = (ADD, "tests/test_more.py", "conftest.py")


def drifted(world: World) -> str:
    """The tree as it was, before a test was weakened, one was added and a runner file was deleted."""
    tree = world.project.workspace.snapshot()
    world.write(ADD, "def test_add(): pass\n")
    world.write("tests/test_more.py", "import os\n")
    (world.root / "conftest.py").unlink()
    return tree


def test_each_path_is_as_it_was_and_its_bytes_are_kept(world: World) -> None:
    tree = drifted(world)
    world.write("calc.py", "# not asked about\n")
    displaced = put_back(world.project, tree, PATHS, why="an agent's call changed it")
    assert (world.read(ADD), world.read("conftest.py")) == (TEST_ADD, "")
    assert not (world.root / "tests/test_more.py").exists()
    assert world.read("calc.py") == "# not asked about\n"
    kept = {d.path: world.project.workspace.blob_bytes(d.blob) for d in displaced}
    assert kept == {ADD: b"def test_add(): pass\n", "tests/test_more.py": b"import os\n"}


def test_the_log_announces_it_and_names_path_and_blob(world: World) -> None:
    tree = drifted(world)
    displaced = {d.path: d.blob for d in put_back(world.project, tree, PATHS, why="because")}
    intent, outcome, *violations = world.events(PuttingBack, PutBack, Violation)
    assert intent == PuttingBack(tree=tree, paths=PATHS, why="because")
    assert isinstance(outcome, PutBack)
    assert set(outcome.displaced) == {f"{path} {blob}" for path, blob in displaced.items()}
    assert violations == [
        Violation(path=path, what="because", displaced=displaced.get(path, "")) for path in PATHS
    ]
    assert world.state.violations == PATHS


def test_a_file_keeps_its_inode(world: World) -> None:
    tree = drifted(world)
    before = (world.root / ADD).stat().st_ino
    put_back(world.project, tree, [ADD], why="")
    assert (world.root / ADD).stat().st_ino == before


def test_the_same_path_again_tells_only_the_new_bytes(world: World) -> None:
    tree = drifted(world)
    put_back(world.project, tree, [ADD], why="")
    world.write(ADD, "# again\n")
    (displaced,) = put_back(world.project, tree, [ADD], why="")
    assert world.project.workspace.blob_bytes(displaced.blob) == b"# again\n"


def test_nothing_to_put_back_is_nothing_to_record(world: World) -> None:
    assert put_back(world.project, world.project.workspace.snapshot(), [], why="") == ()
    assert world.events(PuttingBack, PutBack) == []


def test_a_file_that_took_a_folders_place_makes_way(world: World) -> None:
    tree = world.project.workspace.snapshot()
    (world.root / ADD).unlink()
    (world.root / "tests").rmdir()
    world.write("tests", "a file\n")
    put_back(world.project, tree, [ADD], why="moved")
    assert world.read(ADD) == TEST_ADD
    assert [v.path for v in world.events(Violation) if isinstance(v, Violation)] == [ADD, "tests"]


def kept(world: World) -> None:
    """Once it is over, each displaced byte is in the store under a name that the log tells, once."""
    told = {v.path: v.displaced for v in world.events(Violation) if isinstance(v, Violation)}
    if told:
        assert [*told] == [*PATHS]
        assert world.project.workspace.blob_bytes(told[ADD]) == b"def test_add(): pass\n"


def test_killed_anywhere_it_is_done_or_not_begun(world: World, tmp_path: Path) -> None:
    tree = drifted(world)
    done = rehearse(
        world, tmp_path, lambda w: put_back(w.project, tree, PATHS, why=""), keeps=False, check=kept
    )
    old, new = done.resting
    assert (old.files["calc.py"][1], new.files["calc.py"][1]) == (CALC.encode(), CALC.encode())
    assert new.files[ADD][1] == TEST_ADD.encode()
    assert done.kills >= 6
