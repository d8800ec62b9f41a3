from __future__ import annotations

import pytest

from verdigris.models.roles.context import read_imports

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
