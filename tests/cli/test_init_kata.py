from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.cli import Cli
from support.gitrepo import GitRepo

KATA = "# String Calculator\n\nA function adds numbers.\n"


@pytest.fixture
def empty(tmp_path: Path) -> Cli:
    """A folder in which there is nothing, not even a repository."""
    root, home = tmp_path / "project", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    (tmp_path / "kata.md").write_text(KATA)
    return Cli(GitRepo(root, home))


@pytest.fixture(autouse=True)
def this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}", prepend=":")


def test_a_kata_is_scaffolded_tested_and_undone(empty: Cli) -> None:
    done = empty.ok("init", "--lang", "python", "--kata", "../kata.md")
    assert "will make a git repository in" in done.err
    assert "will write src/string_calculator/__init__.py" in done.err
    assert "will write tdd.yaml: python with pytest in ." in done.err
    assert done.out.startswith("set up; phase red\nthe first commit is made: ")
    assert "next: `tdd test` shows that the tools work" in done.out
    assert "1 passed" in empty.ok("test").out
    assert "already set up" in empty.ok("init", "--kata", "../kata.md").out
    assert "removed what `tdd init` wrote: pyproject.toml" in empty.ok("uninit").out
    assert [path.name for path in empty.root.iterdir()] == [".git"]


def test_an_empty_folder_whose_language_is_said(empty: Cli) -> None:
    done = empty.ok("init", "--lang", "node")
    assert "next: npm install" in done.out
    assert "describe in kata.md what is to be built" in done.out
    assert (empty.root / "kata.md").read_text().startswith("<!--")
    missing = empty.tdd("test")
    assert (missing.code, "npm install" in missing.err) == (69, True)


@pytest.mark.parametrize(
    ("kata", "why"),
    [("none.md", "no kata"), ("..", "folder"), ("../x.bin", "not a text"), ("../empty", "empty")],
)
def test_what_is_no_kata_writes_nothing(empty: Cli, kata: str, why: str) -> None:
    (empty.root.parent / "x.bin").write_bytes(b"\x00\xff")
    (empty.root.parent / "empty").write_bytes(b" \n")
    ran = empty.tdd("init", "--kata", kata)
    assert (ran.code, why in ran.err, "hint: " in ran.err) == (2, True, True)
    assert list(empty.root.iterdir()) == []


def test_on_a_terminal_it_asks_before_there_is_a_repository(empty: Cli) -> None:
    refused = empty.on_a_terminal("init", "--lang", "rust", "--kata", "../kata.md", answer=b"n\n")
    assert (refused.code, "will write Cargo.toml" in refused.out, "write this?" in refused.out) == (
        1,
        True,
        True,
    )
    assert list(empty.root.iterdir()) == []


def test_an_agent_may_not(empty: Cli) -> None:
    ran = empty.tdd("init", "--lang", "rust", env={"TDD_ACTOR": "agent"})
    assert ran.code == 3
    assert list(empty.root.iterdir()) == []


def test_without_a_repository_and_a_language_it_says_how(empty: Cli) -> None:
    ran = empty.tdd("init")
    assert (ran.code, "`tdd init --lang NAME`" in ran.err) == (2, True)
