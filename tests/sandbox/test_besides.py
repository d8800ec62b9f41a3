from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import HarnessError
from verdigris.sandbox.confinement import check_confinement

if TYPE_CHECKING:
    from support.cage import Cage


def shadow(caged: Cage, folder: str, path: str) -> tuple[str, str, str, str]:
    for name in ("upper", "work"):
        caged.write(f"{folder}-layer/{name}/.made").unlink()
    layer = f"{caged.folder}/{folder}-layer"
    return f"{caged.folder}/{folder}", path, f"{layer}/upper", f"{layer}/work"


def test_a_placed_folder_is_written_for_real(caged: Cage) -> None:
    caged.write("cache/old", "old\n")
    at = f"{caged.root}/deep/target"
    done = caged.run(
        "sh", "-c", "cat deep/target/old; echo new > deep/target/new", placed=((f"{caged.folder}/cache", at),)
    )
    assert done.out == "old\n", done.err
    assert (caged.folder / "cache/new").read_text() == "new\n"
    assert not (caged.root / "deep").exists()


def test_a_shadowed_folder_is_read_and_stays_as_it_is(caged: Cage) -> None:
    caged.write("cache/old", "old\n")
    caged.write("cache/gone", "gone\n")
    command = "cat target/old; echo new > target/old; rm target/gone; ls target; cat target/old"
    done = caged.run("sh", "-c", command, shadows=(shadow(caged, "cache", f"{caged.root}/target"),))
    assert done.out == "old\nold\nnew\n", done.err
    assert (caged.folder / "cache/old").read_text() == "old\n"
    assert (caged.folder / "cache/gone").exists()


def test_a_folder_in_its_own_place_can_be_written_without_effect(caged: Cage) -> None:
    file = caged.write("outside/file", "as it was\n")
    done = caged.run(
        "sh",
        "-c",
        f"echo new > {file}; cat {file}",
        shadows=(shadow(caged, "outside", str(caged.outside)),),
    )
    assert done.out == "new\n", done.err
    assert file.read_text() == "as it was\n"


def test_a_link_in_the_worktree_gives_way(one: Cage) -> None:
    one.write("outside/file")
    one.write("cache/old", "old\n")
    (one.root / "target").symlink_to(one.outside)
    done = one.run("sh", "-c", "cat target/*", shadows=(shadow(one, "cache", f"{one.root}/target"),))
    assert done.out == "old\n", done.err
    assert (one.root / "target").is_symlink()
    assert (one.outside / "file").exists()


def test_folders_must_be_there(one: Cage) -> None:
    with pytest.raises(HarnessError, match="needs the folder"):
        check_confinement(one.confinement(placed=((f"{one.folder}/missing", f"{one.root}/target"),)))
