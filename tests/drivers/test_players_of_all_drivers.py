from __future__ import annotations

from pathlib import Path

import pytest

from support.gitrepo import make_repo
from verdigris.drivers.loop.settings import SECTION as LOOP
from verdigris.drivers.loop.tasks import RATCHET, TEST_DRIVEN
from verdigris.models.role_models import check_players
from verdigris.setup.doctor_checks import DoctorFinding
from verdigris.storage.config.drivers import built_in_sections


def check(tmp_path: Path, config: str) -> list[DoctorFinding]:
    repo = make_repo(tmp_path / "project")
    repo.write("tdd.yaml", config)
    return list(check_players(repo.root))


def test_nobody_is_asked_where_no_role_has_a_player(tmp_path: Path) -> None:
    assert check(tmp_path, "machine: {steps: 3}\n") == []
    assert check(tmp_path / "broken", "machine: [\n") == []


@pytest.mark.parametrize("driver", ["machine", "cycle", "loop", "code"])
def test_the_players_of_every_driver_are_checked(tmp_path: Path, driver: str) -> None:
    (section,) = (one for one in built_in_sections() if one.driver == driver)
    roles = "".join(f"  {role}: {{model: 'replay:gone.jsonl'}}\n" for role in section.roles)
    (found,) = check(tmp_path, f"roles:\n{roles}")
    assert (found.name, found.level) == (f"model ({', '.join(section.roles)})", "fail")
    assert "gone.jsonl" in found.what


def test_one_player_of_several_drivers_is_asked_once(tmp_path: Path) -> None:
    (found,) = check(tmp_path, "roles: {agent: {model: human}, optimizer: {model: human}}\n")
    assert (found.name, found.level, found.what) == ("model (optimizer, agent)", "ok", "a person")


@pytest.mark.parametrize(
    ("roles", "missing", "driver"),
    [
        ("tester: {model: human}", "implementor, refactorer", "machine"),
        ("code_writer: {model: human}", "test_writer, improver", "loop"),
        ("coder: {model: human}", "planner, test_author", "cycle"),
    ],
)
def test_a_role_without_a_player_is_told_where_those_it_works_with_have_one(
    tmp_path: Path, roles: str, missing: str, driver: str
) -> None:
    played, lacking = check(tmp_path, f"roles: {{{roles}}}\n")
    assert (played.level, lacking.level, lacking.name) == ("ok", "fail", f"model ({missing})")
    assert f"tdd help {driver}" in lacking.fix


def test_roles_that_a_driver_can_do_without_are_not_missed(tmp_path: Path) -> None:
    (played,) = check(tmp_path, "roles: {optimizer: {model: human}}\n")
    assert played.name == "model (optimizer)"
    named = "planner: {model: human}, test_author: {model: human}, coder: {model: human}"
    assert [one.level for one in check(tmp_path / "cycle", f"roles: {{{named}}}\n")] == ["ok"]


def test_the_loops_teams_are_those_that_it_plays_with() -> None:
    assert LOOP.teams == (TEST_DRIVEN, RATCHET)
