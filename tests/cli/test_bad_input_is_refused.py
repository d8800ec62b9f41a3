"""The bad input that the kernel must answer with a clear no, through the real command line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.cli import FIXED, RED, Cli
from support.gitrepo import make_repo
from support.turns import CONFIG

pytestmark = pytest.mark.usefixtures("remembered_runs")

SUB = "tests/test_sub.py::test_sub"
NAMES = ("with space, quo'te\"s", "new\nline", os.fsdecode("ü".encode() + b"\xff"), "-dash[x]*")


@pytest.mark.parametrize(
    "words",
    [
        ("init",),
        ("status",),
        ("test",),
        ("claim", "a", "b"),
        ("settle",),
        ("log",),
        ("uninit",),
        ("on",),
        ("aside",),
    ],
)
def test_not_a_repository(words: tuple[str, ...], tmp_path: Path, bare_cli: Cli) -> None:
    ran = bare_cli.tdd(*words, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "git init" in ran.err


def test_a_bare_repository(tmp_path: Path, bare_cli: Cli) -> None:
    bare_cli.repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    ran = bare_cli.tdd("init", cwd=tmp_path / "bare.git")
    assert ran.code == 2
    assert "no worktree" in ran.err
    assert bare_cli.tdd("status", cwd=bare_cli.root / ".git").code == 2


def test_not_set_up(tmp_path: Path) -> None:
    ran = Cli(make_repo(tmp_path / "fresh")).tdd("status")
    assert ran.code == 2
    assert "tdd init" in ran.err


@pytest.mark.slow
def test_an_unborn_head(tmp_path: Path) -> None:
    cli = Cli(make_repo(tmp_path / "unborn"))
    cli.repo.write("tdd.yaml", CONFIG)
    cli.ok("init")
    cli.repo.write("tests/test_sub.py", RED)
    cli.repo.write("calc.py", "# STUB:TDD\n\n\ndef sub(a, b):\n    raise NotImplementedError\n")
    assert cli.tdd("test", SUB).code == 1
    cli.ok("claim", SUB, "calc.py")
    cli.repo.write("calc.py", "def sub(a, b):\n    return a - b\n")
    cli.ok("settle")
    assert cli.ok("status", "--json").json["branch"] == "main"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strike: 2\n", "strikes"),
        ("strikes: many\n", "strikes"),
        ("stacks: [{test: ['[broken']}]\n", "[broken"),
        ("stacks: {}\n", "stacks"),
        ("a: [\n", "tdd.yaml"),
    ],
)
def test_a_tdd_yaml_that_cannot_be_used(text: str, expected: str, cli: Cli) -> None:
    cli.repo.write("tdd.yaml", text)
    for command in ("status", "init"):
        ran = cli.tdd(command)
        assert (ran.code, ran.out) == (2, "")
        assert expected in ran.err
        assert "hint: " in ran.err


@pytest.mark.slow
def test_an_unknown_test_id_offers_the_nearest(cli: Cli) -> None:
    ran = cli.tdd("test", "tests/test_add.py::test_ad")
    assert ran.code == 2
    assert "tests/test_add.py::test_add" in ran.err
    assert "tests/test_add.py" in cli.tdd("test", "tests/test_ad.py").err
    assert cli.tdd("test", "no-such-slug").code == 2


def test_a_claim_without_a_red(cli: Cli) -> None:
    ran = cli.tdd("claim", "tests/test_add.py::test_add", "calc.py", "--json")
    assert (ran.code, ran.json["denied"]["rule"]) == (3, "no-red")


@pytest.mark.slow
def test_a_claim_on_a_path_outside(cli: Cli, tmp_path: Path) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)
    for path in ("../outside.py", str(tmp_path / "x.py")):
        ran = cli.tdd("claim", SUB, path, "--json")
        assert (ran.code, ran.json["denied"]["rule"]) == (3, "outside")


def test_a_claimed_path_that_is_not_there_is_called_new_and_the_nearest_is_offered(cli: Cli) -> None:
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)
    told = f"claimed {SUB} → clac.py (new; did you mean calc.py?); phase green"
    assert told in cli.ok("claim", SUB, "clac.py").out


def test_what_is_so_already_is_no_error(cli: Cli) -> None:
    assert "the laws are on already" in cli.ok("on").out
    assert cli.tdd("holdout", "list", "--json").json == {"schema": 1, "held_out": []}


def test_a_corrupt_log_is_refused_named_and_can_be_repaired(cli: Cli) -> None:
    cli.ok("off", "--why", "one")
    cli.ok("on")
    log = cli.root / ".git" / "tdd" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"why":"one"', b'"why":"two"'))
    ran = cli.tdd("status")
    assert ran.code == 4
    assert "tdd log verify" in ran.err
    assert cli.tdd("off", "--why", "x").code == 4
    verified = cli.tdd("log", "verify", "--json")
    assert (verified.code, verified.json["whole"]) == (4, False)
    assert verified.json["findings"][0]["kind"] == "edited"
    assert "event" in cli.tdd("log", "verify").out
    assert cli.tdd("doctor").code == 1
    assert "kept" in cli.ok("log", "repair", "--why", "a bad disk").out
    cli.ok("log", "verify")
    cli.ok("status")
    assert "nothing to repair" in cli.ok("log", "repair", "--why", "again").out


def _read_only(cli: Cli) -> list[str]:
    """A prefix under which the repository's disk cannot be written."""
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script, str(cli.root)]
    tried = (
        subprocess.run([*prefix, "true"], capture_output=True, check=False)
        if shutil.which("unshare")
        else None
    )
    if tried is None or tried.returncode != 0:
        pytest.skip("this system makes no mount namespaces, and nothing is read-only for root")
    return prefix


def test_a_read_only_disk(cli: Cli) -> None:
    prefix = _read_only(cli)
    status = cli.tdd("status", prefix=prefix)
    assert status.code == 0, status
    assert "phase red" in status.out
    assert "could not be compared" in status.out
    assert cli.tdd("log", prefix=prefix).code == 0
    assert cli.tdd("log", "verify", prefix=prefix).code == 0
    for words in (("off", "--why", "x"), ("test",), ("uninit", "--force")):
        ran = cli.tdd(*words, prefix=prefix)
        assert (ran.code, "hint: " in ran.err) == (70, True), ran
        assert "our fault" not in ran.err
    doctor = cli.tdd("doctor", "--json", prefix=prefix)
    assert doctor.code == 1
    assert next(f for f in doctor.json["findings"] if f["name"] == "disk")["level"] == "fail"


def test_an_edited_configuration_on_a_read_only_disk_is_still_read(cli: Cli) -> None:
    cli.repo.write("tdd.yaml", cli.repo.read("tdd.yaml") + b"strikes: 5\n")
    status = cli.tdd("status", prefix=_read_only(cli))
    assert (status.code, "phase red" in status.out) == (0, True), status


def test_init_on_a_read_only_disk(tmp_path: Path) -> None:
    cli = Cli(make_repo(tmp_path / "repo"))
    ran = cli.tdd("init", prefix=_read_only(cli))
    assert ran.code == 70
    assert "our fault" not in ran.err
    assert "writable" in ran.err


@pytest.mark.slow
def test_names_that_are_hard_to_spell(cli: Cli) -> None:
    """All of them in one turn."""
    sources = {f"tests/{name}/test_{n}.py::test_x": f"{name}.py" for n, name in enumerate(NAMES)}
    for source in sources.values():
        cli.repo.write(source, "x = 1\n")
    cli.ok("aside")
    for test, source in sources.items():
        load = f"import os, runpy\nG = runpy.run_path(os.fsdecode({os.fsencode(source)!r}))\n\n\n"
        cli.repo.write(test.partition("::")[0], load + "def test_x():\n    assert G['x'] == 2\n")
        cli.repo.write(source, "# STUB:TDD\nx: int = 0\n")
    ran = cli.tdd("test", "--json", "--", *sources)
    assert ran.code == 1, ran
    assert {test["id"]: test["red"] for test in ran.json["tests"]} == dict.fromkeys(sources, "valid")
    for test, source in sources.items():
        claimed = cli.tdd("claim", "--json", "--", test, source)
        assert (claimed.code, claimed.json["targets"]) == (0, [source]), claimed
        cli.repo.write(source, "x = 2\n")
    status = cli.ok("status")
    assert len([line for line in status.out.splitlines() if re.search(r"test_\d\.py", line)]) == len(NAMES)
    settled = cli.tdd("settle", "--json")
    assert settled.json["verdict"] == "accepted", settled


@pytest.mark.slow
def test_a_merge_in_progress(cli: Cli) -> None:
    cli.repo.git("config", "user.name", "Ada")
    cli.repo.git("config", "user.email", "ada@example.org")
    cli.repo.git("switch", "-q", "-c", "other")
    cli.repo.write("README", "theirs\n")
    cli.repo.commit()
    cli.repo.git("switch", "-q", "main")
    cli.repo.write("README", "ours\n")
    cli.repo.commit()
    merge = cli.tdd("sync", "--", "merge", "other")
    assert merge.code == 1
    assert "tdd sync -- merge --continue" in merge.out
    cli.repo.write("tests/test_sub.py", RED)
    cli.tdd("test", SUB)
    ran = cli.tdd("claim", SUB, "calc.py", "--json")
    assert (ran.code, ran.json["denied"]["rule"]) == (3, "git-in-progress")
    assert "a merge is in progress" in cli.ok("status").out
    cli.ok("sync", "--", "merge", "--abort")
    cli.tdd("test", SUB)
    cli.ok("claim", SUB, "calc.py")
    cli.repo.write("calc.py", FIXED)
    cli.ok("settle")


def test_a_terminal_that_knows_no_dots_still_gets_the_words(cli: Cli) -> None:
    ran = cli.tdd("doctor", env={"PYTHONIOENCODING": "latin-1"})
    assert ran.code == 0, ran
    assert "\\u25cf ok   log" in ran.out
