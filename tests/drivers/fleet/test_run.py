"""Fleets on this machine, with workers and parents that are killed in the middle of a unit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.fleets import FakeFleet, Watched, folder_content, is_alive, wait_for
from support.small_disk import fill_disk, small_disk
from verdigris.core.errors import StorageError, UserError
from verdigris.drivers.fleet.result_folder import FleetSummary, ResultFolder
from verdigris.drivers.fleet.run import FleetRequest, LocalEngine, prepare_units, run_fleet
from verdigris.drivers.fleet.unit import UnitEnd, UnitOutcome


@pytest.fixture
def fleet(tmp_path: Path) -> FakeFleet:
    return FakeFleet(tmp_path)


def go(asked: FleetRequest, jobs: int = 2) -> tuple[FleetSummary, list[str]]:
    watched = Watched()
    summary = run_fleet(asked, prepare_units(asked), LocalEngine(jobs), watched)
    return summary, watched.told


def test_every_outcome_is_counted_where_it_belongs(fleet: FakeFleet) -> None:
    asked = fleet.request("one", "two", "bad", "lost", "broken", "killed", attempts=2)
    summary, told = go(asked)
    assert summary.document() == {
        "schema": "verdigris.fleet/1",
        "units": 6,
        "verdicts": {"replay fails": 1, "replay holds": 2},
        "negative": 1,
        "unverified": 1,
        "infrastructure": 2,
    }
    assert summary.exit_code == 70
    assert len(fleet.starts("broken")) == len(fleet.starts("killed")) == 2
    assert [line for line in told if line.startswith("lost killed False")]
    assert len(list((asked.out / "infrastructure").iterdir())) == 2
    assert json.loads((asked.out / "summary.json").read_bytes()) == summary.document()


def test_a_machine_that_fails_once_is_asked_again(fleet: FakeFleet) -> None:
    summary, told = go(fleet.request("flaky", "one"))
    assert (summary.exit_code, summary.infrastructure) == (0, 0)
    assert "ended flaky holds" in told


def test_exit_codes_tell_yes_no_and_no_answer(fleet: FakeFleet) -> None:
    assert go(fleet.request("one", out="a"))[0].exit_code == 0
    assert go(fleet.request("bad", out="b"))[0].exit_code == 1
    assert go(fleet.request("lost", out="c"))[0].exit_code == 1


def test_what_the_folder_answers_is_not_carried_out_again(fleet: FakeFleet) -> None:
    asked = fleet.request("one", "two")
    go(asked)
    fleet.forget_starts()
    summary, told = go(asked)
    assert told == ["began 2 2"]
    assert fleet.starts("one") == []
    assert summary.verdicts == ("replay holds", "replay holds")


def test_a_result_that_is_half_a_file_is_made_again(fleet: FakeFleet) -> None:
    asked = fleet.request("one")
    go(asked)
    [file] = (asked.out / "results").iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:20])
    go(asked)
    assert file.read_bytes() == whole


def test_the_first_result_counts_and_no_draft_is_left(fleet: FakeFleet) -> None:
    asked = fleet.request("one")
    [unit] = prepare_units(asked)
    folder = ResultFolder(asked.out)
    folder.prepare()
    folder.keep(unit, UnitEnd(UnitOutcome.VERDICT, ("holds",)), 0)
    folder.keep(unit, UnitEnd(UnitOutcome.VERDICT, ("fails",)), 1)
    (asked.out / "results" / f".{unit.key}.1.x").write_text("half")
    assert folder.summarise([unit]).verdicts == ("replay holds",)
    assert [path.name for path in (asked.out / "results").iterdir()] == [f"{unit.key}.json"]


def test_a_file_system_without_hard_links_will_do(fleet: FakeFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    asked = fleet.request("one")
    [unit] = prepare_units(asked)
    folder = ResultFolder(asked.out)
    folder.prepare()
    monkeypatch.setattr(os, "link", refuse)
    folder.keep(unit, UnitEnd(UnitOutcome.VERDICT, ("holds",)), 0)
    assert folder.summarise([unit]).verdicts == ("replay holds",)


def test_a_worker_that_is_killed_in_the_middle_is_replaced_and_its_command_dies_with_it(
    fleet: FakeFleet,
) -> None:
    asked = fleet.request("slow", "one", "two")
    pids: list[int] = []

    def kill() -> None:
        pid, carrier = fleet.await_start("slow")
        pids.append(pid)
        os.kill(carrier, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    summary, told = go(asked)
    killer.join()
    assert summary.verdicts == ("replay holds",) * 3
    assert any("lost slow True its worker was killed by signal 9" in line for line in told)
    assert len(fleet.starts("slow")) == 2
    wait_for(lambda: not is_alive(pids[0]), 10)


def test_a_fleet_whose_parent_is_killed_goes_on_to_the_same_folder(fleet: FakeFleet) -> None:
    names = ("one", "slow", "two", "bad", "three")
    undisturbed = fleet.request(*names, out="whole")
    (fleet.home / "slow.starts").write_text("0 0\n")  # the second start is quick
    go(undisturbed)
    fleet.forget_starts()
    asked = fleet.request(*names)
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from support.fleets import Watched\n"
        "from verdigris.drivers.fleet.run import LocalEngine\n"
        "from verdigris.drivers.fleet.run import FleetRequest, prepare_units, run_fleet\n"
        f"asked = FleetRequest(Path({str(asked.tasks)!r}), Path({str(asked.out)!r}), tdd={asked.tdd!r})\n"
        "run_fleet(asked, prepare_units(asked), LocalEngine(2), Watched())\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, "-c", script], env=env)
    pid, carrier = fleet.await_start("slow")
    parent.kill()
    parent.wait()
    wait_for(lambda: not is_alive(pid) and not is_alive(carrier), 10)
    summary, told = go(asked)
    assert summary.units == 5
    assert told[0].startswith("began 5 ")
    assert folder_content(asked.out) == folder_content(undisturbed.out)


def test_a_unit_that_takes_too_long_is_unverified_and_not_tried_again(fleet: FakeFleet) -> None:
    summary, _ = go(fleet.request("slow", seconds=1.0))
    assert (summary.unverified, summary.infrastructure) == (1, 0)
    assert len(fleet.starts("slow")) == 1


def test_a_repository_that_is_not_on_this_machine_is_its_fault(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"kind": "machine", "repo": "nowhere"}\n')
    asked = FleetRequest(tmp_path / "tasks.jsonl", tmp_path / "out", attempts=1)
    summary, told = go(asked, 1)
    assert summary.infrastructure == 1
    [noted] = (tmp_path / "out" / "infrastructure").iterdir()
    assert "nowhere is not on this machine" in noted.read_text()
    assert len(told) == 2


def test_tasks_that_are_not_there_and_a_folder_that_cannot_be_made_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        prepare_units(FleetRequest(tmp_path / "none", tmp_path / "out"))
    (tmp_path / "out").write_text("a file")
    (tmp_path / "tasks.jsonl").write_text('{"kind": "machine", "repo": "."}\n')
    with pytest.raises(StorageError, match="cannot write"):
        go(FleetRequest(tmp_path / "tasks.jsonl", tmp_path / "out"))


def test_a_full_disk_is_no_answer_and_with_room_the_fleet_goes_on(fleet: FakeFleet, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        asked = fleet.request("one", "two", out="disk/out", attempts=1)
        (asked.out / "results").mkdir(parents=True)
        (asked.out / "infrastructure").mkdir()
        filler = fill_disk(disk)
        with pytest.raises(StorageError, match="No space left"):
            go(asked)
        filler.unlink()
        summary, _ = go(asked)
        assert (summary.exit_code, summary.units) == (0, 2)
