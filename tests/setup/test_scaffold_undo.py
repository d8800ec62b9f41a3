from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.core.records import Actor
from verdigris.setup.initialisation import uninitialise
from verdigris.setup.scaffold import plan_scaffold
from verdigris.setup.scaffold_files import make, undo

pytestmark = pytest.mark.quick

PERSON = Actor()


def scaffolded(folder: Path, kata: str, lang: str | None = "rust") -> None:
    found = plan_scaffold(folder, lang, kata)
    assert found is not None
    make(found, PERSON)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_nobody_touched_goes_with_its_folders(folder: Path, kata: Path) -> None:
    scaffolded(folder, str(kata))
    assert undo(folder).scaffold == "removed"
    assert left(folder) == [".git", "tdd.yaml"]
    uninitialise(folder, PERSON, force=False)
    assert left(folder) == [".git"]
    assert undo(folder).scaffold == "none"


def test_a_kata_that_was_there_is_nobodys_work_and_stays(folder: Path) -> None:
    (folder / "mine.md").write_text("# A\n")
    scaffolded(folder, "mine.md")
    assert undo(folder).scaffold == "removed"
    assert left(folder) == [".git", "mine.md", "tdd.yaml"]


@pytest.mark.parametrize("path", ["src/lib.rs", "src/more.rs", "notes.txt"])
def test_work_keeps_all_of_it(folder: Path, kata: Path, path: str) -> None:
    scaffolded(folder, str(kata))
    before = left(folder)
    with (folder / path).open("a") as file:
        file.write("// work\n")
    undone = undo(folder)
    assert (undone.scaffold, undone.worked) == ("kept", path)
    assert set(before) <= set(left(folder))


def test_what_tools_left_is_no_work(folder: Path, kata: Path) -> None:
    scaffolded(folder, str(kata))
    (folder / "target").mkdir()
    (folder / "target/x").touch()
    assert undo(folder).scaffold == "removed"
    assert left(folder) == [".git", "target", "tdd.yaml"]


def test_a_kata_added_to_a_project_goes_alone_and_unchanged(folder: Path, kata: Path) -> None:
    (folder / "Cargo.toml").write_text('[package]\nname = "mine"\n')
    scaffolded(folder, str(kata), None)
    assert undo(folder).paths == ("kata.md",)
    assert left(folder) == [".git", "Cargo.toml", "tdd.yaml"]


def test_without_a_scaffold_there_is_nothing_to_undo(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    assert undo(folder).scaffold == "none"
