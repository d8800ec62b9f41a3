"""The daily commands, end to end, each by its contract."""

from __future__ import annotations

import pytest

from support.cli import FIXED, RED, SOURCE, Cli

pytestmark = pytest.mark.slow

SUB = "tests/test_sub.py::test_sub"


def _red(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    assert cli.tdd("test", SUB).code == 1


def _green(cli: Cli) -> None:
    _red(cli)
    cli.ok("claim", SUB, "calc.py")


@pytest.mark.quick
def test_red_claim_green_settle(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    ran = cli.tdd("test", SUB, "--json")
    [test] = ran.json["tests"]
    assert (ran.code, ran.json["schema"], test["status"], test["red"]) == (1, 1, "fail", "valid")
    assert test["id"] == SUB
    claimed = cli.ok("claim", SUB, "calc.py", "--json").json
    assert (claimed["claimed"], claimed["targets"], claimed["phase"]) == (SUB, ["calc.py"], "green")
    status = cli.ok("status", "--json").json
    assert (status["phase"], status["claims"][0]["passing"]) == ("green", False)
    cli.repo.write("calc.py", FIXED)
    settled = cli.ok("settle", "--json").json
    assert (settled["verdict"], settled["reasons"], settled["accepted"]) == ("accepted", [], [SUB])
    assert {"id": SUB, "status": "pass"} in settled["tests"]
    assert cli.ok("status", "--json").json["phase"] == "red"
    assert cli.ok("log", "verify", "--json").json["whole"] is True


def test_the_same_in_words(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    ran = cli.tdd("test", SUB)
    assert f"● fail {SUB}  red: valid" in ran.out
    assert f"next: `tdd claim {SUB}`" in ran.out
    assert "(cached" in cli.tdd("test", SUB).out
    assert f"● red {SUB}" in cli.ok("status").out
    assert "phase green" in cli.ok("claim", SUB, "calc.py").out
    cli.repo.write("calc.py", FIXED)
    out = cli.ok("settle").out.splitlines()
    assert out[0] == "● accepted"
    assert out[-1].startswith("next: ")


def test_all_passing_is_exit_code_0(cli: Cli) -> None:
    ran = cli.tdd("test")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("1 passed in ")
    assert len(cli.tdd("test", "-q").out.splitlines()) == 1


def test_a_settlement_that_is_not_accepted_is_exit_code_1(cli: Cli) -> None:
    _green(cli)
    cli.repo.write("calc.py", SOURCE + "\n\ndef sub(a, b):\n    return 0\n")
    ran = cli.tdd("settle", "--json")
    assert (ran.code, ran.json["verdict"]) == (1, "still-red")
    cli.repo.write("calc.py", SOURCE + "\n\ndef sub(a, b):\n    return 7\n")
    ran = cli.tdd("settle")
    assert ran.code == 1
    assert "tdd restore a1" in ran.out
    assert cli.repo.read("calc.py").decode() == SOURCE
    assert "set aside a1: calc.py" in cli.ok("status").out
    cli.tdd("test", SUB)
    cli.ok("claim", SUB, "calc.py")
    shown = cli.ok("restore", "a1", "--show").out
    assert shown.startswith("diff --git a/calc.py b/calc.py")
    assert cli.ok("restore", "a1", "--json").json["paths"] == ["calc.py"]
    assert b"return 7" in cli.repo.read("calc.py")


def test_a_changed_test_is_exit_code_4(cli: Cli) -> None:
    _green(cli)
    cli.repo.write("tests/test_sub.py", RED.replace("== 1", "!= 1"))
    assert "drift: tests/test_sub.py" in cli.ok("status").out
    ran = cli.tdd("settle", "--json")
    assert (ran.code, ran.json["verdict"]) == (4, "tampered")


def test_a_denial_is_exit_code_3_with_its_rule(cli: Cli) -> None:
    ran = cli.tdd("settle", "--json")
    assert ran.code == 3
    assert ran.json["denied"].keys() == {"rule", "reason", "next"}
    words = cli.tdd("settle")
    assert (words.code, words.out) == (3, "")
    assert words.err.startswith("denied [not-in-phase]")


def test_a_test_bug_lays_the_edits_aside_until_the_next_claim(cli: Cli) -> None:
    _green(cli)
    cli.repo.write("calc.py", FIXED)
    assert "set aside as a1" in cli.ok("test-bug", "tests/test_sub.py:5", "the sign is wrong").out
    assert "test-bug b1 at tests/test_sub.py:5: the sign is wrong" in cli.ok("status").out
    cli.repo.write("tests/test_sub.py", RED.replace("sub(3, 2) == 1", "sub(5, 2) == 3"))
    assert cli.tdd("test", SUB).code == 1
    assert "your edits are back: calc.py" in cli.ok("claim", SUB, "calc.py").out
    cli.ok("settle")


def test_edits_before_a_red_step_aside(cli: Cli) -> None:
    cli.repo.write("calc.py", FIXED)
    assert "unclaimed: calc.py" in cli.ok("status").out
    laid = {
        "schema": 1,
        "aside": "a1",
        "paths": ["calc.py"],
        "next": "write one failing test, then `tdd test ID`",
    }
    assert cli.ok("aside", "--json").json == laid
    assert cli.ok("aside", "--json").json["aside"] is None
    assert cli.repo.read("calc.py").decode() == SOURCE


def test_a_refactor_begins_ends_and_is_given_up(cli: Cli) -> None:
    assert "1 test passed" in cli.ok("refactor", "begin").out
    cli.repo.write("calc.py", "def add(first, second):\n    return first + second\n")
    assert cli.ok("refactor", "end", "--json").json["verdict"] == "accepted"
    cli.ok("refactor", "begin")
    cli.repo.write("calc.py", "def add(a, b):\n    return 0\n")
    assert cli.tdd("refactor", "end").code == 1
    assert "set aside as" in cli.ok("refactor", "abort").out
    assert cli.tdd("refactor", "abort").code == 3


def test_off_and_on(cli: Cli) -> None:
    assert "phase off: a spike" in cli.ok("off", "--why", "a spike").out
    assert cli.tdd("settle").code == 3
    assert "phase red" in cli.ok("on").out
    assert "on already" in cli.ok("on").out


def test_sync_moves_git_and_tells_the_new_ground(cli: Cli) -> None:
    cli.repo.git("branch", "other")
    assert cli.ok("sync", "--", "switch", "-q", "other").code == 0
    assert cli.repo.git("branch", "--show-current") == "other"
    failed = cli.tdd("sync", "--", "switch", "-q", "nowhere")
    assert failed.code == 1
    assert cli.tdd("sync", "--", "commit").code == 2


def test_a_run_out_of_time_is_exit_code_124(cli: Cli) -> None:
    config = (cli.root / "tdd.yaml").read_text()
    cli.repo.write("tdd.yaml", config + "room: {timeout: 1}\n")
    cli.repo.write("tests/test_hang.py", "import time\n\n\ndef test_hang():\n    time.sleep(60)\n")
    ran = cli.tdd("test", "tests/test_hang.py")
    assert ran.code == 124, ran
    assert "did not end in time" in ran.out


def test_a_file_that_does_not_load_is_not_a_valid_red(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", "from nowhere import x\n\n\ndef test_sub():\n    assert x\n")
    ran = cli.tdd("test", SUB, "--json")
    assert (ran.code, ran.json["tests"][0]["red"]) == (1, "import")
    assert "ModuleNotFoundError" in cli.tdd("test", "tests/test_sub.py").out


def test_the_last_words_of_a_run_that_died_are_shown(cli: Cli) -> None:
    cli.repo.write("tests/test_die.py", "import os\n\n\ndef test_die():\n    os.abort()\n")
    ran = cli.tdd("test", "tests/test_die.py")
    assert ran.code == 1
    assert "Fatal Python error" in ran.out
