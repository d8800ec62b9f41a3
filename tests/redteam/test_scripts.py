"""Cases that are shell scripts: how they are read, run and counted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from redteam.scripts import OWN, Result, Script, run, scripts_in, summary

from support.cage import as_nobody, interpreter, obstacle

MARKDOWN = "# 007 a-case\ngate, also with held-out tests | high | why\n```sh\necho one\n```\nnow: through\n"


def test_a_markdown_case_is_its_block_of_shell(tmp_path: Path) -> None:
    (tmp_path / "007-a-case.md").write_text(MARKDOWN)
    assert scripts_in(tmp_path) == [Script("007-a-case", "gate", "echo one\n")]


def test_a_text_holds_several_cases_that_begin_with_the_prelude(tmp_path: Path) -> None:
    (tmp_path / "prelude.sh").write_text("a=1\n")
    (tmp_path / "some.txt").write_text("=== one | links\necho $a\n=== two | honest\ntrue\n")
    assert scripts_in(tmp_path) == [
        Script("one", "links", "a=1\necho $a\n"),
        Script("two", "honest", "a=1\ntrue\n"),
    ]


@pytest.mark.parametrize(
    ("kind", "text", "outcome"),
    [
        ("gate", "ls; echo WORKED", "WORKED"),
        ("gate", "echo 'it would have WORKED'", "defeated"),
        ("honest", "echo REFUSED here", "REFUSED"),
        ("honest", "command -v tdd > /dev/null || echo REFUSED", "served"),
    ],
)
def test_a_script_says_itself_what_came_of_it(kind: str, text: str, outcome: str) -> None:
    assert run(Script("x", kind, text)).outcome == outcome


def test_a_script_that_does_not_end_is_no_defence() -> None:
    assert run(Script("x", "gate", "sleep 30"), seconds=0.2).outcome == "timed out"


def test_honest_work_that_is_hindered_fails_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    worked = Result(Script("x", "gate", ""), "WORKED", "  concern: a.py:1: odd\nWORKED\n")
    assert summary([worked]) == 0
    assert "1 of 1 attacks worked: x (concern)" in capsys.readouterr().out
    assert summary([Result(Script("y", "honest", ""), "REFUSED", "")]) == 1


def test_the_collection_is_of_some_size_and_names_each_script_once() -> None:
    scripts = scripts_in(OWN)
    assert len({script.name for script in scripts}) == len(scripts)
    assert sum(not script.honest for script in scripts) >= 180
    assert sum(script.honest for script in scripts) >= 10


def test_the_prelude_knows_an_accepted_turn_by_what_settle_says() -> None:
    """Else no attack could be said to have worked."""
    script = next(script for script in scripts_in(OWN) if script.name == "links-inside-the-tree")
    assert "accepted ||" in script.text
    assert run(script).outcome == "served"


@pytest.mark.skipif(os.geteuid() != 0, reason="this is an ordinary user")
@pytest.mark.skipif(bool(obstacle("own", plain_user=True)), reason="no plain user can be confined here")
def test_an_ordinary_user_is_served_and_protected_as_root_is() -> None:
    """A whole turn, `tdd` from every corner of a call, and an attack that must fail."""
    if interpreter(plain_user=True) != sys.executable:
        pytest.skip("this environment is closed to others")
    names = (
        "ordinary-turn-and-commit",
        "tdd-from-every-corner-of-a-call",
        "no-namespace-left-for-a-test-run",
    )
    with tempfile.TemporaryDirectory(prefix="tdd-plain-") as folder:
        Path(folder).chmod(0o777)
        words = [
            *as_nobody(),
            sys.executable,
            "-m",
            "redteam.scripts",
            "--cases",
            str(OWN),
            "--place",
            folder,
        ]
        environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "PYTHONPATH": str(OWN.parents[1])}
        for name in names:
            done = subprocess.run(
                [*words, "--only", name], env=environment, capture_output=True, text=True, check=False
            )
            assert (done.returncode, "0 of " in done.stdout) == (0, True), done.stdout + done.stderr
            assert "1 honest scripts hindered" not in done.stdout


def test_a_script_that_changes_limits_has_limits_of_its_own() -> None:
    limit = Path("/proc/sys/user/max_user_namespaces")
    before = limit.read_text()
    done = run(Script("x", "gate", f"echo 7 > {limit}; cat {limit}"))
    assert (done.output.splitlines()[0], limit.read_text()) == ("7", before), done.output
