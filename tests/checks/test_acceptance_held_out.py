"""How held-out tests come into a room: what is there together, and what empties itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.node_tools import present
from verdigris.checks.acceptance import groups
from verdigris.core.settings import Stack
from verdigris.languages.registry import language_named

NODE = Stack(root=".", language="node", runner="node-test")


def test_javascript_is_in_the_tree_with_what_it_imports_alone() -> None:
    held = {
        "test/a.test.js": b'import { c } from "./common.js";',
        "test/b.test.js": b"",
        "test/common.js": b"",
        "test/data.json": b"{}",
    }
    assert [(p.asked, p.files) for p in groups(NODE, held)] == [
        (("test/a.test.js",), ("test/a.test.js", "test/common.js", "test/data.json")),
        (("test/b.test.js",), ("test/b.test.js", "test/data.json")),
    ]


def test_go_is_asked_for_by_package_and_rust_at_once() -> None:
    go = Stack(root=".", language="go", runner="go")
    held = {"a/x_test.go": b"", "b/y_test.go": b"", "a/z_test.go": b""}
    assert [p.asked for p in groups(go, held)] == [("a/x_test.go", "a/z_test.go"), ("b/y_test.go",)]
    rust = Stack(root=".", language="rust", runner="cargo")
    [one] = groups(rust, {"tests/a.rs": b"", "tests/b.rs": b"", "tests/b.txt": b""})
    assert one.withheld == ("tests/a.rs", "tests/b.rs")


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("held.test.mjs", 'import { seen } from "./source.mjs";'),
        ("held.test.cjs", '"use strict"; const { seen } = require("./source.cjs");'),
    ],
)
def test_a_file_is_empty_before_the_source_is_loaded(name: str, head: str, tmp_path: Path) -> None:
    texts = {name: f'{head}\nconsole.log(seen, this === undefined, "the answer");\n'.encode()}
    for path, data in language_named(NODE.language).held_out.empty_on_load(texts, loads_modules=True).items():
        (tmp_path / path).write_bytes(data)
    file = f"{tmp_path}/{name}"
    reading = f'fs.readFileSync({file!r}, "utf8").length'
    (tmp_path / "source.mjs").write_text(f'import fs from "node:fs";\nexport const seen = {reading};\n')
    (tmp_path / "source.cjs").write_text(f'const fs = require("node:fs");\nexports.seen = {reading};\n')
    ran = subprocess.run(
        [present(), file],
        capture_output=True,
        text=True,
        check=False,
        env={"TMPDIR": f"{tmp_path}/none", "PATH": "/usr/bin"},
    )
    assert ran.stdout.startswith("0 "), ran.stderr
    assert "the answer" in ran.stdout


def test_lines_stay_where_they_are() -> None:
    text = b'"use strict";\nconst a = require("../a");\n'
    made = language_named(NODE.language).held_out.empty_on_load({"test/a.test.js": text}, loads_modules=True)
    assert made["test/a.test.js"].count(b"\n") == 2
    assert made["test/a.test.js"].startswith(b'"use strict";require(')
