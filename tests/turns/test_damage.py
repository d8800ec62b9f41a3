"""Each file of the control area is damaged in turn; the moves that messages name lead to an accepted turn.

Of all damages a part is walked, within a minute: two thirds of the paths of the green phase by one damage
each, and a sixth of the paths of the other phases. With `TDD_DAMAGE=all` in the environment all of them are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from support.cli import Cli
from support.damage import (
    FILE_DAMAGES,
    FOLDER_DAMAGES,
    OUR_FAULT,
    PHASES,
    call,
    cut,
    empty,
    flip,
    follow,
    make_file,
    make_folder,
    make_place,
    places,
    remove,
    truncate,
)
from support.trees import copy_tree, remove_tree
from verdigris.execution.resident.resident import stop

PARTS = 60 if os.environ.get("TDD_DAMAGE") == "all" else 4
SUB = "tests/test_sub.py::test_sub"


@dataclass(frozen=True, slots=True)
class Place:
    phase: str
    cli: Cli
    pristine: Path

    @property
    def control(self) -> Path:
        return self.cli.root / ".git/tdd"

    def restore(self) -> None:
        stop(str(self.control / "worktrees/main"))
        remove_tree(self.cli.root)
        copy_tree(self.pristine, self.cli.root)

    def walk(self, path: Path, how: Callable[[Path], None]) -> str:
        """What went wrong on the way from this damage to an accepted turn; empty if nothing did."""
        self.restore()
        how(path)
        told = self._ask_hook() if path.parent == self.control else ""
        walked = follow(self.cli)
        if walked.accepted and not any(OUR_FAULT in line for line in (*walked.told, told)):
            return ""
        return "\n".join((f"{how.__name__} {path.relative_to(self.control)}", told, *walked.told))

    def _ask_hook(self) -> str:
        written = {"file_path": str(self.cli.root / "calc.py"), "content": "x"}
        ran = call(self.cli, "PreToolUse", "Write", **written)
        return ran.out + ran.err


def made(phase: str, folder: Path) -> Place:
    cli = make_place(folder / "repo", phase)
    copy_tree(cli.root, folder / "pristine")
    return Place(phase, cli, folder / "pristine")


@pytest.fixture(scope="module", params=PHASES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = made(request.param, tmp_path_factory.mktemp("damage"))
    yield place
    place.restore()


@pytest.fixture(scope="module")
def green(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = made("green", tmp_path_factory.mktemp("green"))
    yield place
    place.restore()


def cases(place: Place) -> Iterator[tuple[Path, Callable[[Path], None]]]:
    phase, everything = PHASES.index(place.phase), os.environ.get("TDD_DAMAGE") == "all"
    turn = count(phase)
    objects = place.control / "store/objects"
    found = [(path, path.is_dir()) for path in places(place.control)]
    for number, (path, is_folder) in enumerate(found):
        if is_folder and path.parent == objects and not everything:
            continue  # it is as its objects
        damages = FOLDER_DAMAGES if is_folder else FILE_DAMAGES
        if everything:
            yield from ((path, how) for how in damages)
        elif (place.phase == "green" and number % 2) or number % 6 == phase:
            yield path, damages[next(turn) % len(damages)]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_damage_has_a_way_out(place: Place, part: int) -> None:
    place.restore()
    chosen = [case for number, case in enumerate(cases(place)) if number % PARTS == part]
    wrong = [said for case in chosen if (said := place.walk(*case))]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("events.jsonl", make_folder),
        ("events.jsonl", flip),
        ("head", empty),
        ("lock", make_folder),
        ("locks", make_file),
        ("rooms", make_file),
        ("store", remove),
        ("worktrees", make_file),
    ],
)
def test_what_the_kernel_cannot_do_without_has_a_way_out(
    green: Place, name: str, how: Callable[[Path], None]
) -> None:
    assert green.walk(green.control / name, how) == ""


def cut_half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"\n", 0, -1) + 100])


@pytest.mark.quick
@pytest.mark.parametrize("how", [cut, cut_half])
def test_the_open_claim_survives_a_last_line_that_was_cut(green: Place, how: Callable[[Path], None]) -> None:
    green.restore()
    green.cli.ok("test-bug", "tests/test_sub.py:5", "wrong")
    green.cli.tdd("test")
    green.cli.ok("claim", SUB, "calc.py")
    how(green.control / "events.jsonl")
    assert green.cli.ok("status", "--json").json["phase"] == "green"
    assert green.cli.ok("log", "verify").out.startswith("● log intact")


def test_lost_objects_are_taken_from_the_tree_and_from_git(green: Place) -> None:
    """The damaged store is kept where no agent can read it: held-out tests are in it."""
    green.restore()
    blob = green.cli.repo.git("hash-object", "calc.py").strip()
    damaged = green.control / "store/objects" / blob[:2] / blob[2:]
    truncate(damaged)
    left = damaged.read_bytes()
    said = green.cli.ok("log", "repair", "--why", "the disk failed").out
    assert "repaired the store: 1 object damaged; the old one is kept in store/damaged-1" in said
    assert "lost" not in said
    assert (green.control / "store/damaged-1/objects" / blob[:2] / blob[2:]).read_bytes() == left
    assert green.cli.ok("status", "--json").json["phase"] == "green"
    assert "nothing to repair" in green.cli.ok("log", "repair", "--why", "again").out


def test_what_is_lost_is_said_and_recorded(green: Place) -> None:
    green.restore()
    remove(green.control / "store")
    said = green.cli.ok("log", "repair", "--why", "the disk failed").out
    assert f"● lost: the open turn, with its claim of {SUB}; its edits stay in the tree" in said
    events = green.cli.ok("log", "--json").json["events"]
    assert [event["type"] for event in events[-3:]] == ["log_repaired", "switched_off", "switched_on"]
    assert (events[-3]["why"], bool(events[-3]["objects"])) == ("the disk failed", True)


def test_an_agent_repairs_nothing(green: Place) -> None:
    green.restore()
    empty(green.control / "head")
    ran = green.cli.tdd("log", "repair", "--why", "x", env={"TDD_ACTOR": "agent"})
    assert ran.code == 3
    assert "Only a person may run `tdd log repair`." in ran.out + ran.err
    assert (green.control / "head").read_bytes() == b""


def test_a_set_up_after_a_removal_survives_a_damaged_store(green: Place) -> None:
    green.restore()
    green.cli.ok("uninit", "--force")
    for path in (green.control / "store/objects").glob("*/*"):
        truncate(path)
    walked = follow(green.cli)
    assert walked.accepted, "\n".join(walked.told)


@pytest.mark.parametrize("phase", PHASES)
def test_a_configuration_that_is_gone_comes_back(phase: str, tmp_path: Path) -> None:
    place = made(phase, tmp_path)
    frozen = (place.cli.root / "tdd.yaml").read_bytes()
    (place.cli.root / "tdd.yaml").unlink()
    walked = follow(place.cli, first="tdd init --yes")
    assert walked.accepted, "\n".join(walked.told)
    assert phase == "red" or (place.cli.root / "tdd.yaml").read_bytes() == frozen


@pytest.mark.parametrize("text", [b"", bytes(4)], ids=["empty", "zeros"])
def test_an_empty_head_of_git_has_a_way_out(green: Place, text: bytes) -> None:
    green.restore()
    (green.cli.root / ".git/HEAD").write_bytes(text)
    walked = follow(green.cli)
    assert walked.accepted, "\n".join(walked.told)
