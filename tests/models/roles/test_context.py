from __future__ import annotations

from dataclasses import replace

import pytest

from support.kata_run import PYPROJECT, TEST, classify, run, source_text, start, test_text
from verdigris.core.errors import UserError
from verdigris.drivers.machine.history import CODER, REFACTORER, TESTER
from verdigris.models.request import estimate_ask
from verdigris.models.roles.context import (
    FLOOR,
    as_text,
    by_weight,
    read_imports,
    secret,
    shrunk,
    worth_telling,
)
from verdigris.models.roles.prompt import Task, first_ask, guide
from verdigris.models.roles.teams import MACHINE

test_text.__test__ = False  # type: ignore[attr-defined]


def test_roles_take_turns() -> None:
    assert [MACHINE.after(role) for role in MACHINE.roles] == [CODER, REFACTORER, TESTER]
    assert [role.commit_types for role in MACHINE.roles] == [("test",), ("feat", "fix"), ("refactor",)]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (".env", True),
        ("app/.env.local", True),
        (".env.example", False),
        ("id_rsa", True),
        ("keys/server.pem", True),
        ("credentials.json", True),
        ("src/secrets.py", False),
        ("src/environment.py", False),
        (".aws/credentials", True),
        (".npmrc", True),
        ("secrets.yaml", True),
        ("tests/test_env.py", False),
    ],
)
def test_secrets_are_told_by_their_names(path: str, *, is_one: bool) -> None:
    assert secret(path) is is_one


def test_what_is_no_text() -> None:
    assert as_text("naïve\n".encode()) == "naïve\n"
    assert as_text(b"\xff\xfe") is None
    assert as_text(b"a\0b") is None
    assert not worth_telling("package-lock.json", "{}")
    assert not worth_telling("node_modules/x/index.js", "x")


def test_files_that_matter_come_first() -> None:
    tree = {
        "README.md": "x",
        "docs/deep/far.md": "x",
        "src/calculator.py": "x",
        "src/other.py": "x",
        "src/asked.py": "x",
        "pyproject.toml": PYPROJECT,
        TEST: "import calculator\n",
        "logo.png": None,
    }
    assert by_weight(tree, classify, ["src/asked.py", "gone.py"]) == (
        "src/asked.py",
        "src/calculator.py",
        TEST,
        "src/other.py",
        "README.md",
        "pyproject.toml",
        "docs/deep/far.md",
    )


def test_material_shrinks_until_nothing_is_left_to_cut() -> None:
    files = {f"src/m{n}.py": source_text(n) for n in range(60)} | {TEST: test_text(60)}
    material, sizes = replace(start(), files=files), []
    while material.budget * 0.6 >= FLOOR:
        sizes.append(estimate_ask(first_ask(material, Task(TESTER, 1))[0]))
        assert sizes[-1] <= material.budget * 1.1 + 700
        material = shrunk(material)
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)
    with pytest.raises(UserError, match="context is too small"):
        shrunk(material)


def test_a_kata_that_is_too_long_is_cut() -> None:
    material = replace(start(8_000), kata="A long story, told at length.\n" * 5_000)
    ask, _ = first_ask(material, Task(TESTER, 1))
    assert estimate_ask(ask) < 8_800


@pytest.mark.parametrize("language", ["python", "rust", "node", "go", "cobol"])
def test_every_language_is_told_how_to_stub(language: str) -> None:
    text = guide(MACHINE, language)
    assert "STUB:TDD" in text.partition("ANY ROLE")[2]
    for word in ("kata-done", "test-is-wrong", "nothing-to-do", '"edits"', "JSON"):
        assert word in text


def test_a_run_is_asked_the_same_again() -> None:
    assert run(7) == run(7)


# -- imports -------------------------------------------------------------------------------------


INIT, ADDING, DEEP = "src/calc/__init__.py", "src/calc/adding.py", "src/calc/deep/__init__.py"
PYTHON = {INIT, ADDING, DEEP, "tests/test_x.py", "tests/aid.py"}
NODE = {"src/calc.ts", "src/parts/index.ts", "src/old.js", "tests/calc.test.ts"}
LIB, FRAME, SCORE, BONUS = "src/lib.rs", "src/frame.rs", "src/score/mod.rs", "src/score/bonus.rs"
RUST = {"Cargo.toml", LIB, FRAME, SCORE, BONUS, "tests/game.rs", "tests/common/mod.rs"}
GAME = "mod common;\nuse bowling::frame::Frame;\nuse std::fmt;"
PARTS = "import x from '../src/parts'\nconst o = require('../src/old')"


@pytest.mark.parametrize(
    ("path", "text", "files", "found"),
    [
        ("tests/test_x.py", "import calc.adding", PYTHON, [ADDING]),
        ("tests/test_x.py", "from calc import adding, add", PYTHON, [INIT, ADDING]),
        ("tests/test_x.py", "import os, json\nimport aid", PYTHON, ["tests/aid.py"]),
        ("src/calc/adding.py", "from . import deep\nfrom .deep import x", PYTHON, [INIT, DEEP]),
        ("tests/test_x.py", "def broken(:", PYTHON, []),
        ("a.py", "import b", {"a.py", "b.py"}, ["b.py"]),
        ("tests/calc.test.ts", 'import { add } from "../src/calc.js";', NODE, ["src/calc.ts"]),
        ("tests/calc.test.ts", PARTS, NODE, ["src/parts/index.ts", "src/old.js"]),
        ("tests/calc.test.ts", "import { it } from 'vitest'", NODE, []),
        ("src/lib.rs", "mod frame;\npub mod score;", RUST, ["src/frame.rs", "src/score/mod.rs"]),
        ("src/score/mod.rs", "mod bonus;\nuse super::frame::Frame;", RUST, ["src/score/bonus.rs"]),
        ("src/frame.rs", "use crate::score::bonus::of;", RUST, [LIB, SCORE, BONUS]),
        ("tests/game.rs", GAME, RUST, ["tests/common/mod.rs", LIB, FRAME]),
        ("main.go", 'import "fmt"', {"main.go"}, []),
    ],
)
def test_what_a_file_imports(path: str, text: str, files: set[str], found: list[str]) -> None:
    assert list(read_imports(path, text, frozenset(files))) == found
