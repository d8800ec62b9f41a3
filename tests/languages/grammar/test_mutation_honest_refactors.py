"""Honest refactors in Node, Go and Rust: what could get them refused is only what a test has to run."""

from __future__ import annotations

import pytest

from verdigris.languages.registry import reader_of

NODE, GO, RUST = "a.js", "a.go", "a.rs"


def changed(path: str, before: str, after: str, *, weak: bool = False) -> list[str]:
    """Without those that a test notices by running the code at all."""
    head = "package a\n\n" if path == GO else ""
    sides = ({path: f"{head}{side}".encode()} for side in (before, after))
    made = reader_of(path).source.mutants(*sides)
    return [m.what for m in made.mutants if m.weak is weak and "no test runs it" not in m.what]


HONEST = {
    "node: a local is renamed in one of two methods of the same name": (
        NODE,
        (
            "class A {\n  get(a) {\n    if (a > 3) return a;\n    return 1;\n  }\n}\n"
            "class B {\n  get(a) {\n    if (a > 5) return a;\n    return 1;\n  }\n}\n"
        ),
        (
            "class A {\n  get(b) {\n    if (b > 3) return b;\n    return 1;\n  }\n}\n"
            "class B {\n  get(a) {\n    if (a > 5) return a;\n    return 1;\n  }\n}\n"
        ),
    ),
    "go: a local is renamed in one of two methods of the same name": (
        GO,
        (
            "func (s *A) get(a int) int {\n\tif a > 3 {\n\t\treturn a\n\t}\n\treturn 1\n}\n"
            "func (s *B) get(a int) int {\n\tif a > 5 {\n\t\treturn a\n\t}\n\treturn 1\n}\n"
        ),
        (
            "func (s *A) get(b int) int {\n\tif b > 3 {\n\t\treturn b\n\t}\n\treturn 1\n}\n"
            "func (s *B) get(a int) int {\n\tif a > 5 {\n\t\treturn a\n\t}\n\treturn 1\n}\n"
        ),
    ),
    "rust: a local is renamed in one of two methods of the same name": (
        RUST,
        (
            "impl A {\n    fn get(a: i32) -> i32 {\n        if a > 3 { a } else { 1 }\n    }\n}\n"
            "impl B {\n    fn get(a: i32) -> i32 {\n        if a > 5 { a } else { 1 }\n    }\n}\n"
        ),
        (
            "impl A {\n    fn get(b: i32) -> i32 {\n        if b > 3 { b } else { 1 }\n    }\n}\n"
            "impl B {\n    fn get(a: i32) -> i32 {\n        if a > 5 { a } else { 1 }\n    }\n}\n"
        ),
    ),
    "node: a local is renamed in one of two function values": (
        NODE,
        (
            "const f = (a) => {\n  if (a > 3) return a;\n  return 1;\n};\n"
            "const g = (a) => {\n  if (a > 5) return a;\n  return 1;\n};\n"
        ),
        (
            "const f = (b) => {\n  if (b > 3) return b;\n  return 1;\n};\n"
            "const g = (a) => {\n  if (a > 5) return a;\n  return 1;\n};\n"
        ),
    ),
    "node: types get names": (
        "a.ts",
        "export const f = (mode: string) => mode;\n",
        (
            'type Mode = "read" | "write";\ninterface Way { kind: "path"; "a-b": 1 }\n'
            'declare module "there" { const how: "now"; }\nexport const f = (mode: Mode) => mode;\n'
        ),
    ),
    "node: a module is renamed that is exported from another": (
        NODE,
        'export { a } from "./first.js";\nexport * from "./second.js";\n',
        'export { a } from "./erst.js";\nexport * from "./zweit.js";\n',
    ),
    "node: a table of functions by name follows a rename": (
        NODE,
        'function plus() {}\nconst LISTED = ["plus", "minus"];\n',
        'function add() {}\nconst LISTED = ["add", "minus"];\n',
    ),
    "node: a comparison is mirrored": (
        NODE,
        'function f(x) {\n  if (x > 0) return "yes";\n  return "no";\n}\n',
        'function f(x) {\n  if (0 < x) return "yes";\n  return "no";\n}\n',
    ),
    "node: a negation is pushed in": (
        NODE,
        'function f(a, b) {\n  if (!(a === b || !b)) return "yes";\n  return "no";\n}\n',
        'function f(a, b) {\n  if (a !== b && b) return "yes";\n  return "no";\n}\n',
    ),
    "node: if and else change places": (
        NODE,
        'function f(a) {\n  if (a > 3) {\n    return "big";\n  } else {\n    return "small";\n  }\n}\n',
        'function f(a) {\n  if (a <= 3) {\n    return "small";\n  }\n  return "big";\n}\n',
    ),
    "node: an if becomes an expression": (
        NODE,
        'function f(a) {\n  if (!a) {\n    return "none";\n  }\n  return a.name;\n}\n',
        'const f = (a) => (a ? a.name : "none");\n',
    ),
    "node: no length is no length": (
        NODE,
        'function f(xs) {\n  if (xs.length === 0) return "none";\n  return xs[0];\n}\n',
        'function f(xs) {\n  if (!xs.length) return "none";\n  return xs[0];\n}\n',
    ),
    "node: a literal becomes an item of two lists": (
        NODE,
        'const f = (t) => g(t.replace("\\n\\n", ","), "\\n\\n");\n',
        'const f = (t) => g(t, ["\\n\\n"], [t, "\\n\\n"], ["\\n\\n"]).replace(",");\n',
    ),
    "node: a literal becomes a constant": (
        NODE,
        "const f = (a) => a * 60;\n",
        "const SECONDS = 60;\nconst f = (a) => a * SECONDS;\n",
    ),
    "go: a comparison is mirrored": (
        GO,
        'func f(x int) string {\n\tif x > 0 {\n\t\treturn "yes"\n\t}\n\treturn "no"\n}\n',
        'func f(x int) string {\n\tif 0 < x {\n\t\treturn "yes"\n\t}\n\treturn "no"\n}\n',
    ),
    "go: an early return": (
        GO,
        'func f(x int) string {\n\tif x >= 7 {\n\t\treturn g(x)\n\t}\n\treturn "no"\n}\n',
        'func f(x int) string {\n\tif x < 7 {\n\t\treturn "no"\n\t}\n\treturn g(x)\n}\n',
    ),
    "go: a length is measured otherwise": (
        GO,
        'func f(x []int) string {\n\tif len(x) == 0 {\n\t\treturn "no"\n\t}\n\treturn g(x)\n}\n',
        'func f(x []int) string {\n\tif len(x) > 0 {\n\t\treturn g(x)\n\t}\n\treturn "no"\n}\n',
    ),
    "go: a literal becomes a constant": (
        GO,
        "func f(a int) int {\n\treturn a*60 + a%60\n}\n",
        "const seconds = 60\n\nfunc f(a int) int {\n\treturn a*seconds + a%seconds\n}\n",
    ),
    "rust: a comparison is mirrored": (
        RUST,
        'fn f(x: i32) -> &str {\n    if x > 0 { "yes" } else { "no" }\n}\n',
        'fn f(x: i32) -> &str {\n    if 0 < x { "yes" } else { "no" }\n}\n',
    ),
    "rust: if and else change places": (
        RUST,
        'fn f(x: i32) -> &str {\n    if !(x > 0) { "no" } else { "yes" }\n}\n',
        'fn f(x: i32) -> &str {\n    if x > 0 { "yes" } else { "no" }\n}\n',
    ),
    "rust: a length is nothing": (
        RUST,
        'fn f(x: &[i32]) -> &str {\n    if x.len() == 0 { "no" } else { "yes" }\n}\n',
        'fn f(x: &[i32]) -> &str {\n    if x.is_empty() { "no" } else { "yes" }\n}\n',
    ),
    "rust: a literal becomes a constant": (
        RUST,
        "fn f(x: i32) -> i32 {\n    x * 60\n}\n",
        "const SECONDS: i32 = 60;\nfn f(x: i32) -> i32 {\n    x * SECONDS\n}\n",
    ),
    "node: a condition gets a name": (
        NODE,
        'function f(p) {\n  if (p.age >= 18 && p.member) return "in";\n  return "out";\n}\n',
        'function f(p) {\n  const o = p.age >= 18;\n  if (o && p.member) return "in";\n  return "out";\n}\n',
    ),
    "node: nested ifs become one": (
        NODE,
        'function f(a, b) {\n  if (a) {\n    if (b) {\n      return "both";\n    }\n  }\n  return "no";\n}\n',
        'function f(a, b) {\n  if (a && b) {\n    return "both";\n  }\n  return "no";\n}\n',
    ),
    "go: a condition becomes a function": (
        GO,
        'func f(p P) string {\n\tif p.age >= 18 && p.member {\n\t\treturn "in"\n\t}\n\treturn "out"\n}\n',
        (
            "func mayEnter(one P) bool {\n\treturn one.age >= 18 && one.member\n}\n"
            'func f(p P) string {\n\tif mayEnter(p) {\n\t\treturn "in"\n\t}\n\treturn "out"\n}\n'
        ),
    ),
    "rust: a condition becomes a method": (
        RUST,
        'impl P {\n    fn f(&self) -> &str {\n        if self.age >= 18 { "in" } else { "out" }\n    }\n}\n',
        (
            'impl P {\n    fn f(&self) -> &str {\n        if self.adult() { "in" } else { "out" }\n    }\n'
            "    fn adult(&self) -> bool {\n        self.age >= 18\n    }\n}\n"
        ),
    ),
    "rust: an early return": (
        RUST,
        'fn f(x: i32) -> &str {\n    if x >= 7 {\n        return g(x);\n    }\n    "no"\n}\n',
        'fn f(x: i32) -> &str {\n    if x < 7 {\n        return "no";\n    }\n    g(x)\n}\n',
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_refactor_has_nothing_to_be_refused_for(name: str) -> None:
    assert changed(*HONEST[name]) == []


CHEATS = {
    "node: another boundary": (
        NODE,
        'function f(x) {\n  if (x > 7) return "yes";\n  return "no";\n}\n',
        'function f(x) {\n  if (7 <= x) return "yes";\n  return "no";\n}\n',
        "`7 <= x` → `7 < x`",
    ),
    "node: the opposite without its ways": (
        NODE,
        "function f(a, b) {\n  if (a) return b;\n  return 7;\n}\n",
        "function f(a, b) {\n  if (!a) return b;\n  return 7;\n}\n",
        "|| true",
    ),
    "node: another known constant": (
        NODE,
        "const LIMIT = 10;\nconst STEP = 5;\n",
        "const LIMIT = 5;\nconst STEP = 5;\n",
        "`5` → `6`",
    ),
    "go: another constant": (GO, "const limit = 10\n", "const limit = 20\n", "`20` → `21`"),
    "go: or instead of and": (
        GO,
        "func f(a, b bool) int {\n\tif a && b {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
        "func f(a, b bool) int {\n\tif a || b {\n\t\treturn 1\n\t}\n\treturn 2\n}\n",
        "&& false",
    ),
    "go: another boundary of what is returned": (
        GO,
        "func f(a, b int) bool {\n\treturn a > b\n}\n",
        "func f(a, b int) bool {\n\treturn b <= a\n}\n",
        "`b <= a` → `b < a`",
    ),
    "node: a parameter that nobody needs": (
        NODE,
        "function f(a) {\n  return a;\n}\n",
        "function f(a, strict = false) {\n  return a;\n}\n",
        "the parameter `strict` of `f` is new",
    ),
    "node: another truth": (
        NODE,
        "const f = () => g(true);\n",
        "const f = () => g(false);\n",
        "`false` → `true`",
    ),
    "rust: another boundary": (
        RUST,
        'fn f(x: i32) -> &str {\n    if x > 7 { "yes" } else { "no" }\n}\n',
        'fn f(x: i32) -> &str {\n    if x < 7 { "no" } else { "yes" }\n}\n',
        "`x < 7` → `x <= 7`",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_what_changes_behaviour_can_still_be_refused(name: str) -> None:
    path, before, after, what = CHEATS[name]
    assert any(what in found for found in changed(path, before, after)), changed(path, before, after)


def test_a_boundary_of_a_condition_that_is_new_is_only_noted() -> None:
    before, after = (
        "func f(a int) int {\n\treturn g(a, 0)\n}\n",
        "func f(a int) int {\n\tif a > 0 {\n\t\treturn a\n\t}\n\treturn 0\n}\n",
    )
    assert changed(GO, before, after, weak=True)[0] == "`a > 0` → `a >= 0`: no test notices"
    assert "`a > 0` → `((a > 0) || true)`: no test notices" in changed(GO, before, after)
