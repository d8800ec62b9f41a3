"""Small histories with known answers, for audits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from support.gitrepo import GitRepo, copied, make_repo

PYPROJECT = '[project]\nname = "calc"\nversion = "0"\n\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
ADD = "def add(a, b):\n    return a + b\n"
SUB = "\n\ndef sub(a, b):\n    return a - b\n"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
TEST_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
TEST_SUB = "from calc import sub\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n"
TEST_FLOOR = "\n\ndef test_floor():\n    assert sub(1, 2) == 0\n"
TEST_MUL = "import calc\n\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"
FLOOR = SUB.replace("a - b", "max(a - b, 0)")
WRONG = ADD.replace("a + b", "a + b + 1")
NEG = "\n\ndef neg(a):\n    return -a\n"


CHANGES: tuple[tuple[str, Mapping[str, str | None]], ...] = (
    ("test-driven: stubbed import", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB}),
    ("test-driven: assertion", {"calc.py": ADD + FLOOR, "tests/test_sub.py": TEST_SUB + TEST_FLOOR}),
    ("no-code: a comment", {"calc.py": "# Sums.\n" + ADD + FLOOR}),
    ("unverified: a red alone", {"tests/test_mul.py": TEST_MUL}),
    ("test-driven: its green", {"calc.py": ADD + FLOOR + MUL}),
    ("untested: no test runs it", {"calc.py": ADD + FLOOR + MUL + NEG}),
)
"""Titles begin with the outcome; `known_histories` has the simple kinds."""


def begin(root: Path) -> GitRepo:
    return copied(root, _begin, "the beginning of a small history")


def _begin(root: Path) -> GitRepo:
    repo = make_repo(root)
    add_commit(
        repo,
        "test-driven: the first",
        {"pyproject.toml": PYPROJECT, "calc.py": ADD, "tests/test_add.py": TEST_ADD},
    )
    return repo


def add_commit(repo: GitRepo, title: str, files: Mapping[str, str | None]) -> str:
    for path, text in files.items():
        if text is None:
            (repo.root / path).unlink()
        else:
            repo.write(path, text)
    return repo.commit(title)


def make_history(root: Path) -> GitRepo:
    """Commit the first state, and then each change."""
    return copied(root, _make_history, "a small history")


def _make_history(root: Path) -> None:
    repo = _begin(root)
    for title, files in CHANGES:
        add_commit(repo, title, files)
