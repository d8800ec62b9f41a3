from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from support.cli import Cli


def test_a_healthy_project_is_exit_code_0(cli: Cli) -> None:
    ran = cli.ok("doctor", "--json")
    assert (ran.json["schema"], ran.json["ok"]) == (1, True)
    assert {finding["name"] for finding in ran.json["findings"]} >= {"git", "interpreter", "pytest", "log"}
    assert "ok   pytest: " in cli.ok("doctor").out


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
    ran = cli.tdd("aside", env={"PATH": str(tmp_path)})
    assert ran.code == 69
    assert "git" in ran.err
