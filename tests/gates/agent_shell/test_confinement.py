"""The same confinement by the older calls of the system."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.turns import World
from verdigris.core.confinement.toolchains import VARIABLES
from verdigris.core.events import Denied, SwitchedOff
from verdigris.gates.agent_shell import confinement
from verdigris.gates.agent_shell.confinement import ANCHOR, HOLE, MASKED, READONLY, ShellCard
from verdigris.gates.agent_shell.places import FILES, FOLDERS, TEMPORARY_VARIABLES
from verdigris.gates.agent_shell.protection import protection
from verdigris.sandbox.child import available
from verdigris.sandbox.syscalls import ways


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writes(path: Path) -> bool:
    try:
        path.joinpath("x").write_text("x")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("missing", ["", "copy_mounts", "set_mount_attributes"])
def test_everything_is_read_only_but_the_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def no_such_call(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    if missing:
        monkeypatch.setattr(confinement, missing, no_such_call)
    for name in ("hole/kept/inner", "hole/masked", "rest"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "hole/masked/secret").write_text("x")
    planned = [
        (str(tmp_path / "gone"), HOLE),
        (str(tmp_path / "hole"), HOLE),
        (str(tmp_path / "hole/kept"), READONLY),
        (str(tmp_path / "hole/kept/inner"), HOLE),
        (str(tmp_path / "hole/masked"), MASKED),
    ]

    def look() -> None:
        confinement.confine(planned, ways()[0])
        found = [name for name in ("rest", "hole", "hole/kept", "hole/kept/inner") if writes(tmp_path / name)]
        assert found == ["hole", "hole/kept/inner"], found
        assert list((tmp_path / "hole/masked").iterdir()) == []

    if not available().ok:
        pytest.skip("no namespaces here")
    assert in_child(look) == 0
    assert not (tmp_path / "rest/x").exists()
    assert (tmp_path / "hole/kept/inner/x").exists()


@pytest.fixture
def places(world: World) -> tuple[str, str]:
    repo = world.project.repo
    confinement.write(
        str(repo.private),
        ShellCard(str(repo.root), "own", (("/a", 1),), confinement.log_position(str(repo.control))),
    )
    return str(repo.private), str(repo.control)


def test_a_card_is_good_while_nothing_changed_that_matters(world: World, places: tuple[str, str]) -> None:
    world.project.record(Denied(action="x", rule="a", reason='"type":"switched_off"', next="b"))
    known = confinement.read_card(*places)
    assert known is not None
    assert (known.root, known.way, known.mounts) == (str(world.root), "own", (("/a", 1),))


def test_a_card_is_out_of_date_after_what_matters(world: World, places: tuple[str, str]) -> None:
    world.project.record(
        SwitchedOff(why='a "type":"denied"'), Denied(action="x", rule="a", reason="b", next="c")
    )
    assert confinement.read_card(*places) is None


def test_a_card_of_another_log_or_version_is_none(world: World, places: tuple[str, str]) -> None:
    file = world.project.repo.private / confinement.NAME
    good = file.read_bytes()
    for bad in (b"", good[:-3], b"junk" * 9, good.replace(b"\x03", b"\x09", 1)):
        file.write_bytes(bad)
        assert confinement.read_card(*places) is None
    file.write_bytes(good)
    log = world.project.repo.control / confinement.LOG
    log.write_bytes(log.read_bytes()[:-9] + b"x" * 9)
    assert confinement.read_card(*places) is None


def test_what_is_mounted_in_red(world: World) -> None:
    planned = dict(protection(world.project))
    root = str(world.root)
    assert planned[f"{root}/tdd.yaml"] == READONLY
    assert not {f"{root}/calc.py", f"{root}/tests"} & planned.keys(), "the tripwire compares what is written"
    assert (planned[root], planned[f"{root}/.git"]) == (HOLE, ANCHOR), "it lies in the home of these tests"
    assert planned[f"{root}/.git/config"] == READONLY
    assert planned[f"{root}/.git/tdd"] == READONLY
    assert planned[f"{root}/.git/tdd/store"] == MASKED


def test_a_folder_comes_before_what_is_in_it(world: World) -> None:
    paths = [path for path, _ in protection(world.project)]
    for path in paths:
        above = path.rpartition("/")[0]
        assert above not in paths or paths.index(above) < paths.index(path)


def test_every_variable_that_places_are_read_from_makes_a_new_card() -> None:
    named = {*VARIABLES, *TEMPORARY_VARIABLES, *FOLDERS, *FILES, "HOME", "PATH"}
    assert set(confinement.VARIABLES) == named
