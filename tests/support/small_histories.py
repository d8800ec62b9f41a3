"""Small histories with known answers, for audits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.gitrepo import make_repo

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.gitrepo import GitRepo

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


EVERY_KIND: tuple[tuple[str, Mapping[str, str | None]], ...] = (
    ("test-driven: stubbed import", {"calc.py": ADD + SUB, "tests/test_sub.py": TEST_SUB}),
    ("test-driven: assertion", {"calc.py": ADD + FLOOR, "tests/test_sub.py": TEST_SUB + TEST_FLOOR}),
    ("no-code: prose", {"README.md": "hello\n"}),
    ("no-code: a comment", {"calc.py": "# Sums.\n" + ADD + FLOOR}),
    ("untested: no test runs it", {"calc.py": ADD + FLOOR + MUL}),
    ("characterization: tests alone", {"tests/test_mul.py": TEST_MUL}),
    (
        "refactor: same results",
        {"calc.py": ADD + FLOOR + MUL.replace("return a * b", "c = a * b\n    return c")},
    ),
    ("weakened: fewer checks", {"tests/test_mul.py": TEST_MUL.replace("== 6", "is not None")}),
    ("weakened: a test deleted", {"tests/test_mul.py": None}),
    ("regressed: it adds one", {"calc.py": WRONG + FLOOR}),
    ("test-driven: the red stood there", {"calc.py": ADD + FLOOR}),
    ("unverified: a red alone", {"tests/test_mul.py": TEST_MUL}),
    ("test-driven: its green", {"calc.py": ADD + FLOOR + MUL}),
    (
        "untested: tests that pass before",
        {
            "calc.py": ADD + FLOOR + MUL.replace("a * b", "b * a"),
            "tests/test_mul.py": TEST_MUL + "\n\ndef test_again():\n    assert calc.mul(1, 1) == 1\n",
        },
    ),
)
"""Titles begin with the outcome."""


def begin(root: Path) -> GitRepo:
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
    """Every outcome that a plain change can have, a commit each."""
    repo = begin(root)
    for title, files in EVERY_KIND:
        add_commit(repo, title, files)
    return repo
