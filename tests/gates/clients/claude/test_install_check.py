from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.small_disk import fill_disk, small_disk
from support.turns import World, make_world
from verdigris.gates.clients.claude.install import check, install
from verdigris.gates.clients.claude.quick import LOCAL
from verdigris.gates.clients.claude.settings import SHARED

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.setup.doctor_checks import DoctorFinding


def found(world: World) -> DoctorFinding:
    finding = check(world.root)
    assert finding is not None
    return finding


def test_without_a_gate_nothing_is_wrong(world: World, tmp_path: Path) -> None:
    assert found(world).level == "ok"
    assert "not connected" in found(world).what
    assert check(tmp_path) is None, "no repository"


def test_a_gate_is_tried(world: World) -> None:
    install(world.project)
    assert found(world).level == "ok"
    assert "its hook answers, its shell prefix works" in found(world).what


@pytest.mark.parametrize("name", ["hook", "shell"])
def test_one_that_does_not_work_is_a_failure(world: World, name: str) -> None:
    install(world.project)
    (world.project.repo.control / name).write_text("#!/bin/sh\nexit 1\n")
    assert found(world).level == "fail"
    assert name in found(world).what
    install(world.project)
    assert found(world).level == "ok"


def test_settings_that_lost_it_are_a_warning(world: World) -> None:
    install(world.project, team=True)
    own = world.read(LOCAL)
    world.write(LOCAL, "{}")
    assert (found(world).level, "tdd init --agent claude" in found(world).fix) == ("warn", True)
    world.write(LOCAL, own)
    world.write(SHARED, world.read(SHARED).replace('"timeout": 60', '"timeout": 61'))
    assert found(world).level == "warn"
    world.write(SHARED, "{}")
    assert found(world).level == "ok", "the personal settings have all"


def test_hooks_that_are_switched_off_and_broken_settings_are_failures(world: World) -> None:
    install(world.project)
    settings = json.loads(world.read(LOCAL))
    world.write(LOCAL, json.dumps({**settings, "disableAllHooks": True}))
    assert "disableAllHooks" in found(world).what
    world.write(LOCAL, "{")
    assert (found(world).level, "not JSON" in found(world).what) == ("fail", True)


def test_a_full_disk_is_not_the_shell_prefixs_fault(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        world = make_world(disk / "repo")
        install(world.project)
        fill_disk(disk)
        assert found(world).level == "fail"
        assert "No space left on device" in found(world).what
        assert (found(world).fix, "prefix" in found(world).what) == ("free some space", False)
