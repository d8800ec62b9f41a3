"""`tdd fleet` with real commands as units: an audit, a replay, and lines that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import FIXED, RED, Cli
from support.machines import make_kata

pytestmark = pytest.mark.slow
TEST = "tests/test_sub.py"


def test_an_audit_and_a_replay_are_units_and_a_second_run_knows_them(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("detect_secrets", reason="the extra verdigris[corpus] is not installed")
    cli.repo.write(TEST, RED)
    cli.tdd("test", TEST)
    cli.ok("claim", f"{TEST}::test_sub", "calc.py")
    cli.repo.write("calc.py", FIXED)
    cli.ok("settle")
    commit = cli.repo.commit("sub")
    cli.ok("corpus", "export", str(tmp_path / "corpus"))
    [line] = [
        line for path in (tmp_path / "corpus").glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    units = [
        {"kind": "audit", "repo": "repo", "commit": commit},
        {"kind": "replay", "repo": "repo", "corpus": "corpus", "id": json.loads(line)["id"]},
        {"kind": "audit", "repo": "repo", "commit": "0" * 40},
    ]
    tasks, out = tmp_path / "tasks.jsonl", str(tmp_path / "out")
    tasks.write_text("".join(f"{json.dumps(unit)}\n" for unit in units[:2]))
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = cli.tdd("fleet", "run", str(tasks), "--out", out, "--json", env=env)
    assert (ran.code, ran.json["summary"]["verdicts"]) == (0, {"audit test-driven": 1, "replay holds": 1}), (
        ran
    )
    assert f"audit repo {commit[:12]} (" in ran.err
    again = cli.tdd("fleet", "run", str(tasks), "--out", out, env=env)
    assert "2 of them answered already" in again.err
    tasks.write_text("".join(f"{json.dumps(unit)}\n" for unit in units))
    third = cli.tdd("fleet", "run", str(tasks), "--out", out, env=env)
    assert (third.code, "1  unverified" in third.out) == (1, True), third


def test_a_machine_run_is_a_unit_and_what_it_proved_can_be_exported(tmp_path: Path) -> None:
    pytest.importorskip("detect_secrets", reason="the extra verdigris[corpus] is not installed")
    cli = Cli(make_kata(tmp_path / "kata").repo)
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"kind": "machine", "repo": "kata", "steps": 2}\n')
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = ("fleet", "run", str(tasks), "--out", str(tmp_path / "out"), "--json")
    ran = cli.tdd(*run, env=env)
    assert (ran.code, ran.json["summary"]["verdicts"]) == (0, {"machine steps-made": 1}), ran
    cli.ok("corpus", "export", str(tmp_path / "corpus"))
    [triple] = [
        json.loads(line)
        for path in (tmp_path / "corpus").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert triple["reds"][0]["id"] == "tests/test_calculator.py::test_empty_is_zero"
    assert triple["author"] == {
        "role": "agent",
        "client": "machine",
        "context": "machine:implementor",
        "model": "replay:talk.jsonl",
        "name": "",
    }
    assert "holds" in cli.ok("corpus", "verify", str(tmp_path / "corpus")).out


def test_a_wrong_call_is_told_before_anything_runs(bare_cli: Cli, tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"kind": "audit", "repo": "."}\n')
    run = ("fleet", "run", str(tasks), "--out", str(tmp_path / "out"))
    assert "lacks 'commit'" in bare_cli.tdd(*run).err
    assert bare_cli.tdd(*run, "--address", "auto").code == 2
    assert bare_cli.tdd(*run, "--shard", "5/4").code == 2
    assert not (tmp_path / "out").exists()
