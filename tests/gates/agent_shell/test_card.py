from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.confinement.protection import VARIABLES
from verdigris.core.events import Denied, SwitchedOff
from verdigris.gates.agent_shell import card
from verdigris.gates.agent_shell.card import ANCHOR, HOLE, MASKED, READONLY, ShellCard
from verdigris.gates.agent_shell.protection import FILES, PLACES, TEMPORARY_VARIABLES, protection

if TYPE_CHECKING:
    from support.turns import World


@pytest.fixture
def places(world: World) -> tuple[str, str]:
    repo = world.project.repo
    card.write(
        str(repo.private),
        ShellCard(str(repo.root), "own", (("/a", 1),), card.log_position(str(repo.control))),
    )
    return str(repo.private), str(repo.control)


def test_a_card_is_good_while_nothing_changed_that_matters(world: World, places: tuple[str, str]) -> None:
    world.project.record(Denied(action="x", rule="a", reason='"type":"switched_off"', next="b"))
    known = card.read(*places)
    assert known is not None
    assert (known.root, known.way, known.mounts) == (str(world.root), "own", (("/a", 1),))


def test_a_card_is_out_of_date_after_what_matters(world: World, places: tuple[str, str]) -> None:
    world.project.record(
        SwitchedOff(why='a "type":"denied"'), Denied(action="x", rule="a", reason="b", next="c")
    )
    assert card.read(*places) is None


def test_a_card_of_another_log_or_version_is_none(world: World, places: tuple[str, str]) -> None:
    file = world.project.repo.private / card.NAME
    good = file.read_bytes()
    for bad in (b"", good[:-3], b"junk" * 9, good.replace(b"\x03", b"\x09", 1)):
        file.write_bytes(bad)
        assert card.read(*places) is None
    file.write_bytes(good)
    log = world.project.repo.control / card.LOG
    log.write_bytes(log.read_bytes()[:-9] + b"x" * 9)
    assert card.read(*places) is None


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
    named = {*VARIABLES, *TEMPORARY_VARIABLES, *PLACES, *FILES, "HOME", "PATH"}
    assert set(card.VARIABLES) == named
