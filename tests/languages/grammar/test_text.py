"""Which test files import what changed, through other files too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.languages.registry import language_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    return set(language_named(language).reaching(tests, [changed], files, read))


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
