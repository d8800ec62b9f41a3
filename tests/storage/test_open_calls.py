from __future__ import annotations

import os
from typing import TYPE_CHECKING

from support.cli import make_cli
from verdigris.storage import open_calls

if TYPE_CHECKING:
    from pathlib import Path

    from support.turns import World


def test_an_open_call_is_told_by_its_command(tmp_path: Path) -> None:
    private = str(tmp_path / "tdd/worktrees/main")
    record = open_calls.open_record(private, "make all\nand more")
    assert open_calls.open_call(private) == "make all\nand more"
    assert open_calls.alive(private)
    denial = open_calls.refusal(private)
    assert denial is not None
    assert denial.reason.endswith(": make all")
    os.close(record)
    assert open_calls.refusal(private) is None
    assert not open_calls.alive(private)


def test_where_no_call_ever_was(world: World) -> None:
    private = str(world.project.repo.private)
    assert open_calls.open_call(private) is None
    assert not open_calls.alive(private)


def test_a_persons_verbs_are_refused_while_a_call_is_open(tmp_path: Path) -> None:
    cli = make_cli(tmp_path / "repo")
    cli.ok("init", "--yes")
    record = open_calls.open_record(str(cli.root / ".git/tdd/worktrees/main"), "sleep 60")
    for verb in (["off", "--why", "x"], ["init", "--yes"], ["holdout", "add", "tests/test_add.py"]):
        ran = cli.tdd(*verb)
        assert ran.code == 3
        assert "sleep 60" in ran.err
    cli.ok("status")
    os.close(record)
    cli.ok("off", "--why", "x")
    assert cli.tdd("on", env={"TDD_ACTOR": "agent"}).code == 3
