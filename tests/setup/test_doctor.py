from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.gitrepo import GitRepo, make_repo
from verdigris.core.records import Actor
from verdigris.execution.tools.registry import version
from verdigris.sandbox import child
from verdigris.setup.doctor import examine
from verdigris.setup.initialisation import initialise
from verdigris.setup.safeguards import SAFEGUARDS, check_sandbox, holdings

if TYPE_CHECKING:
    from verdigris.sandbox.syscalls import Way
    from verdigris.setup.doctor_checks import DoctorFinding

PERSON = Actor()
CONFIG = f"stacks: [{{root: ., python: {sys.executable!r}}}]\n"


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    made = make_repo(tmp_path / "repo")
    monkeypatch.setenv("HOME", str(made.home))
    made.write("calc.py", "x = 1\n")
    made.write("tests/test_a.py", "def test_a(): pass\n")
    made.write("tdd.yaml", CONFIG)
    return made


def _examined(where: Path) -> dict[str, DoctorFinding]:
    return {finding.name: finding for finding in examine(where, PERSON)}


def _script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_healthy_project_has_nothing_that_fails(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    found = _examined(repo.root)
    assert {name for name, finding in found.items() if finding.level != "ok"} <= {"sandbox"}
    assert found.keys() == {
        "git", "sandbox", "repository", "disk", "log", "configuration", "interpreter", "pytest", "tests",
    }  # fmt: skip
    assert sys.executable in found["interpreter"].what
    assert "configured" in found["interpreter"].what
    assert found["pytest"].what == pytest.__version__


def test_every_finding_that_is_not_ok_has_a_fix(tmp_path: Path, repo: GitRepo) -> None:
    for where in (tmp_path, repo.root):
        assert all(finding.fix for finding in examine(where, PERSON) if finding.level != "ok")


def test_outside_a_repository_it_says_so(tmp_path: Path) -> None:
    found = _examined(tmp_path)
    assert found["repository"].level == "fail"
    assert "git init" in found["repository"].fix


def test_a_repository_that_is_not_set_up_is_told_how(repo: GitRepo) -> None:
    (repo.root / "tdd.yaml").unlink()
    found = _examined(repo.root)
    assert (found["configuration"].level, found["configuration"].fix) == ("fail", "`tdd init`")
    assert "tests" not in found
    assert not (repo.root / ".git" / "tdd" / "store").exists()


def test_git_that_is_missing_or_old(repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert _examined(repo.root)["git"].level == "fail"
    _script(tmp_path / "old" / "git", "echo git version 2.30.1")
    monkeypatch.setenv("PATH", str(tmp_path / "old"))
    found = _examined(repo.root)["git"]
    assert (found.level, "2.30.1" in found.what) == ("fail", True)


def test_a_merge_in_progress_is_a_warning(repo: GitRepo) -> None:
    (repo.root / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    found = _examined(repo.root)["repository"]
    assert (found.level, "git merge --abort" in found.fix) == ("warn", True)


def test_a_damaged_log_is_found_and_the_rest_still_checked(repo: GitRepo) -> None:
    initialise(repo.root, PERSON)
    log = repo.root / ".git" / "tdd" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"main"', b'"mine"', 1))
    found = _examined(repo.root)
    assert found["log"].level == "fail"
    assert "tdd log repair" in found["log"].fix
    assert "event 1" in found["log"].what
    assert found["interpreter"].level == "ok"


def test_a_broken_configuration_is_named(repo: GitRepo) -> None:
    repo.write("tdd.yaml", "strike: 3\n")
    found = _examined(repo.root)["configuration"]
    assert (found.level, "strike" in found.what) == ("fail", True)


def test_a_file_and_a_log_that_differ_are_a_warning(repo: GitRepo) -> None:
    assert "not recorded" in _examined(repo.root)["configuration"].what
    initialise(repo.root, PERSON)
    repo.write("tdd.yaml", CONFIG + "strikes: 3\n")
    assert "changed" in _examined(repo.root)["configuration"].what
    (repo.root / "tdd.yaml").unlink()
    found = _examined(repo.root)["configuration"]
    assert (found.level, "gone" in found.what) == ("warn", True)


def test_an_interpreter_that_is_not_there_fails(repo: GitRepo) -> None:
    repo.write("tdd.yaml", "stacks: [{root: ., python: nowhere/python}]\n")
    assert _examined(repo.root)["interpreter"].level == "fail"


def test_an_interpreter_without_pytest_or_with_an_old_one(repo: GitRepo, tmp_path: Path) -> None:
    python = _script(tmp_path / "python", "echo '[[3, 8, 1], null]'")
    repo.write("tdd.yaml", f"stacks: [{{root: ., python: {str(python)!r}}}]\n")
    found = _examined(repo.root)
    assert (found["interpreter"].level, found["pytest"].level) == ("ok", "fail")
    assert "pip install pytest" in found["pytest"].fix
    _script(python, "echo '[[3, 7, 9], \"6.2.5\"]'")
    found = _examined(repo.root)
    assert (found["interpreter"].level, found["pytest"].level) == ("fail", "fail")


def test_without_tests_an_uncovered_refactor_is_offered(repo: GitRepo) -> None:
    (repo.root / "tests" / "test_a.py").unlink()
    initialise(repo.root, PERSON)
    found = _examined(repo.root)["tests"]
    assert found.level == "warn"
    assert "tdd refactor begin --uncovered" in found.fix


def test_a_disk_that_cannot_be_written(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    found = _examined(repo.root)["disk"]
    assert (found.level, "Read-only" in found.what) == ("fail", True)


def _mount_namespace() -> str:
    own = Path("/proc/self/ns/mnt")
    return str(own.readlink()) if own.is_symlink() else ""


def test_the_sandbox_is_found_out_by_trying() -> None:
    before = _mount_namespace()
    assert check_sandbox().level in {"ok", "warn"}
    assert _mount_namespace() == before


@pytest.mark.parametrize(
    ("way", "refused", "lacking"),
    [
        ("own", [], []),
        ("own", ["network"], ["network namespaces"]),
        ("own", ["processes"], ["process namespaces"]),
        ("plain", [], ["user namespaces"]),
        (
            None,
            ["network", "processes"],
            ["mount namespaces", "user namespaces", "network namespaces", "process namespaces"],
        ),
    ],
)
def test_what_the_sandbox_cannot_do_is_said_row_by_row(
    monkeypatch: pytest.MonkeyPatch, way: Way | None, refused: list[str], lacking: list[str]
) -> None:
    abilities = tuple(
        child.Ability(name, ok=name not in refused, why="refused" if name in refused else "")
        for name in ("network", "processes")
    )
    monkeypatch.setattr(child, "available", lambda: child.Availability(way, disk=True, abilities=abilities))
    rows = {row.name: row for row in SAFEGUARDS}
    assert [row.name for row in holdings() if not row.present] == lacking
    assert all(row.holds in {rows[row.name].present, rows[row.name].absent} for row in holdings())
    finding = check_sandbox()
    assert (finding.level, bool(finding.fix)) == (("warn", True) if lacking else ("ok", False))
    assert all(name in finding.what for name in lacking)
    assert len(finding.details) == len(SAFEGUARDS)
    assert ("refused" in finding.what) == bool(refused)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("git version 2.39.5 (Apple Git-154)", (2, 39, 5)), ("9.2.0rc1", (9, 2, 0)), ("none", ())],
)
def test_versions_are_read_from_what_tools_print(text: str, expected: tuple[int, ...]) -> None:
    assert version(text) == expected
