from __future__ import annotations

from pathlib import Path

from support.cli import Cli


def test_a_healthy_project_is_exit_code_0(cli: Cli) -> None:
    ran = cli.ok("doctor", "--json")
    assert (ran.json["schema"], ran.json["ok"]) == (1, True)
    assert {finding["name"] for finding in ran.json["findings"]} >= {"git", "interpreter", "pytest", "log"}
    assert "ok   pytest: " in cli.ok("doctor").out


def test_the_room_is_compared_when_asked(cli: Cli) -> None:
    cli.repo.write("tests/test_env.py", "import os\ndef test_mode(): os.environ['SHOP_MODE']\n")
    ran = cli.tdd("doctor", "--room", "--json", env={"SHOP_MODE": "test"})
    (room,) = (finding for finding in ran.json["findings"] if finding["name"] == "room")
    assert (ran.code, room["level"]) == (0, "warn")
    assert "room: {env: [SHOP_MODE]}" in room["fix"]
    (detail,) = room["details"]
    assert detail in cli.tdd("doctor", "--room", env={"SHOP_MODE": "test"}).out


def test_an_agent_may_look_but_not_have_the_suite_run_unconfined(cli: Cli) -> None:
    agent = {"TDD_ACTOR": "agent"}
    assert cli.tdd("doctor", env=agent).code == 0
    ran = cli.tdd("doctor", "--room", env=agent)
    assert (ran.code, "fail room: " in ran.out) == (1, True)


def test_outside_a_repository_it_still_reports(cli: Cli, tmp_path: Path) -> None:
    ran = cli.tdd("doctor", cwd=tmp_path)
    assert ran.code == 1
    assert "ok   git: " in ran.out
    assert "fail repository: " in ran.out


def test_without_git_it_still_reports(cli: Cli, tmp_path: Path) -> None:
    ran = cli.tdd("doctor", env={"PATH": str(tmp_path)})
    assert ran.code == 1
    assert "fail git: " in ran.out
    assert "our fault" not in ran.err


def test_without_git_commands_say_so(cli: Cli, tmp_path: Path) -> None:
    ran = cli.tdd("uninit", env={"PATH": str(tmp_path)})
    assert ran.code == 69
    assert "git" in ran.err


def test_an_edit_of_the_configuration_that_the_next_command_takes_in_is_no_trouble(cli: Cli) -> None:
    cli.repo.write("tdd.yaml", cli.repo.read("tdd.yaml") + b"# who plays\n")
    said = cli.tdd("doctor")
    assert "tdd.yaml changed since it was recorded; the next command takes it in" in said.out
    assert "warn configuration" not in said.out
