from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.languages.grammar.trees import same_tree
from verdigris.languages.registry import is_same_tree, language_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


SAME = {
    "a.ts": (
        "import { a } from 'b'\nexport const f = (x) => {\n  return g(x, '1')\n}\n",
        'import { a } from "b";\n// w\nexport const f = (x) => {\n  return g(\n    x,\n    "1",\n  );\n};\n',
    ),
    "a.rs": (
        "pub fn f(a: u32, b: u32) -> u32 { a + b }\n",
        "/// Adds.\npub fn f(\n    a: u32,\n    b: u32,\n) -> u32 {\n    a + b\n}\n",
    ),
    "a.go": (
        "package a\n\nfunc F(a int) int { return a+1 }\n",
        "package a\n\n// F adds.\nfunc F(a int) int {\n\treturn a + 1\n}\n",
    ),
}


@pytest.mark.parametrize("path", SAME)
def test_a_formatter_and_a_comment_leave_the_tree_as_it_was(path: str) -> None:
    before, after = SAME[path]
    assert same_tree(path, before.encode(), after.encode())


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.ts", "'1'", "'2'"),
        ("a.ts", "g(x", "h(x"),
        ("a.rs", "a + b", "a - b"),
        ("a.go", "a+1", "a+2"),
        ("a.go", "}\n", "}\n}\n"),
    ],
)
def test_other_code_is_another_tree(path: str, old: str, new: str) -> None:
    before = SAME[path][0]
    assert not same_tree(path, before.encode(), before.replace(old, new).encode())


def test_a_string_is_not_the_name_inside_it() -> None:
    assert not same_tree("a.ts", b"f('x')\n", b"f(x)\n")


def test_a_line_break_that_ends_a_statement_is_no_layout() -> None:
    assert not same_tree("a.js", b"function f() { return x }\n", b"function f() { return\nx }\n")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.go", "package a\n", "//go:build ignore\n\npackage a\n"),
        ("a.go", '// int f(void);\nimport "C"\n', '// int g(void);\nimport "C"\n'),
        ("a.tsx", "const a = 1\n", "/** @jsx h */\nconst a = 1\n"),
        ("a.rs", "fn f() {}\n", "/// ```\n/// f();\n/// ```\nfn f() {}\n"),
        ("a.rs", "/// ```\n/// f(1);\n/// ```\nfn f() {}\n", "/// ```\n/// f(2);\n/// ```\nfn f() {}\n"),
        ("a.rs", "/** ```\nf(1);\n``` */\nfn f() {}\n", "/** ```\nf(2);\n``` */\nfn f() {}\n"),
    ],
)
def test_a_comment_that_a_tool_carries_out_is_no_layout(path: str, before: str, after: str) -> None:
    assert not is_same_tree(path, before.encode(), after.encode())


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.ts", "const a = 1\n", "/**\n * ```js\n * a // 1\n * ```\n */\nconst a = 1\n"),
        ("a.go", "package a\n", "// Package a has:\n//\n// ```\n// a\n// ```\npackage a\n"),
        (
            "a.rs",
            "/// ```\n/// f(1);\n/// ```\nfn f() {}\n",
            "/// F.\n///\n/// ```\n/// f(1);\n/// ```\nfn f() {}\n",
        ),
        ("a.rs", "// ```\n// f(1);\nfn f() {}\n", "// ```\n// f(2);\nfn f() {}\n"),
    ],
)
def test_an_example_that_no_tool_carries_out_is_a_comment(path: str, before: str, after: str) -> None:
    assert is_same_tree(path, before.encode(), after.encode())


NODE = {
    "test/a.test.js": 'import { a } from "../src/a.js";',
    "test/b.test.ts": 'const b = require("../src/b");',
    "test/c.test.ts": 'import c from "@/src/deep/c";',
    "test/d.test.js": 'export * from "./helper.mjs";',
    "test/e.test.js": 'import "node:fs"; import x from "vitest";',
    "test/helper.mjs": 'await import("../src/a.js");',
    "src/a.js": 'import { b } from "./b.js";',
    "src/b.ts": "",
    "src/deep/c/index.ts": "",
}
GO = {
    "calc/calc.go": "package calc",
    "calc/calc_test.go": "package calc",
    "shop/shop.go": 'package shop\nimport (\n\t"example.com/m/calc"\n)\n',
    "shop/shop_test.go": "package shop",
    "other/other_test.go": 'package other\nimport "testing"\nfunc T() { x := "example.com/m/calc" }\n',
}


def found(language: str, files: Mapping[str, str], changed: str) -> set[str]:
    def read(paths: Sequence[str]) -> dict[str, bytes | None]:
        return {path: files[path].encode() for path in paths}

    tests = [path for path in files if "test." in path]
    return set(language_named(language).imports.reaching(tests, [changed], files, read))


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/a.js", {"test/a.test.js", "test/d.test.js"}),
        ("src/b.ts", {"test/a.test.js", "test/b.test.ts", "test/d.test.js"}),
        ("src/deep/c/index.ts", {"test/c.test.ts"}),
    ],
)
def test_node_follows_imports(changed: str, tests: set[str]) -> None:
    assert found("node", NODE, changed) == tests


def test_go_follows_packages() -> None:
    assert found("go", GO, "calc/calc.go") == {"calc/calc_test.go", "shop/shop_test.go"}
    assert found("go", GO, "shop/shop.go") == {"shop/shop_test.go"}


def test_rust_takes_the_whole_workspace() -> None:
    assert found("rust", {"tests/test.rs": "", "src/lib.rs": ""}, "src/lib.rs") == {"tests/test.rs"}
