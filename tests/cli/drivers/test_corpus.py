"""`tdd corpus` as people call it: results, messages and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from support.cli import FIXED, RED, Cli
from support.late_imports import needs

pytestmark = needs("detect_secrets", "the extra verdigris[corpus] is not installed")
TEST = "tests/test_sub.py"


def prove(cli: Cli) -> None:
    cli.repo.write(TEST, RED)
    cli.tdd("test", TEST)
    cli.ok("claim", f"{TEST}::test_sub", "calc.py")
    cli.repo.write("calc.py", FIXED)
    cli.ok("settle")


def test_an_export_is_told_and_verified(cli: Cli, tmp_path: Path) -> None:
    prove(cli)
    out = tmp_path / "out"
    said = cli.ok("corpus", "export", str(out)).out
    assert "1 row (" in said
    assert cli.tdd("corpus", "export", str(out)).code == 2
    told = cli.ok("corpus", "export", "--force", "--json", str(out)).json["exported"]
    assert (sum(told["rows"].values()), told["format"]) == (1, "triples")
    assert "holds" in cli.ok("corpus", "verify", str(out)).out
    [split] = [path for path in out.glob("*.jsonl") if path.stat().st_size]
    triple = json.loads(split.read_text())
    split.write_text(json.dumps({**triple, "patch": ""}) + "\n")
    ran = cli.tdd("corpus", "verify", "--json", str(out))
    assert ran.code == 1
    assert ran.json["summary"] == {"holds": 0, "fails": 1, "unverified": 0}
    assert "patch does not lead" in ran.json["triples"][0]["why"]


def test_what_cannot_be_exported_is_said_with_a_next_move(cli: Cli, tmp_path: Path) -> None:
    ran = cli.tdd("corpus", "export", "--no-log", str(tmp_path / "out"))
    assert (ran.code, "--audit" in ran.err) == (2, True)
    log = cli.root / ".git" / "tdd" / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-40] + b"\n")
    ran = cli.tdd("corpus", "export", str(tmp_path / "out"))
    assert ran.code == 4
    assert not (tmp_path / "out").exists()
