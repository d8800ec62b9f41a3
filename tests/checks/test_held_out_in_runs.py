"""Held-out tests in a verdict: nobody reads them, and what they expect matters."""

# ruff: noqa: E501 - texts of other languages

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.gitrepo import make_repo
from support.node_tools import installed, present
from support.tool_worlds import GO, GO_CONFIG, RUST, RUST_CONFIG, make_go_world, make_tool_world
from support.tools import why_not
from support.turns import QUICK, World
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.sandbox import available
from verdigris.setup.initialisation import initialise
from verdigris.turns.person import hold_out

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not available().ok, reason="no sandbox can be made here")
STUB = 'export const f = () => { throw new Error("STUB:TDD"); };\n'
NODE_TEST = """\
import assert from "node:assert/strict";
import {{ test }} from "node:test";
import {{ f }} from "../src/f.js";
test("{0}", () => {{ assert.equal(f({1}), "{2}"); }});
"""
VITEST = """\
import {{ expect, test }} from "vitest";
import {{ f }} from "../src/f.js";
test("{0}", () => {{ expect(f({1})).toBe("{2}"); }});
"""
JEST = """\
const {{ f }} = require("../src/f.js");
test("{0}", () => {{ expect(f({1})).toBe("{2}"); }});
"""
HONEST = 'export const f = (n) => ({ 4: "IV", 9: "IX" })[n];\n'
READS = """\
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const known = new Map();
for (const top of [path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), ".."), os.tmpdir()]) {
  for (const name of fs.readdirSync(top, { recursive: true })) {
    let text = "";
    if (!name.includes("node_modules")) try { text = fs.readFileSync(path.join(top, name), "utf8"); } catch {}
    for (const [, n, answer] of text.matchAll(/\\bf(?:\\)?)\\((\\d+)\\)[^"]*"(\\w+)"/g)) known.set(Number(n), answer);
  }
}
export const f = (n) => (n === 4 ? "IV" : known.get(n));
"""
RUNNERS = {"node-test": (NODE_TEST, None), "vitest": (VITEST, "vitest@3"), "jest": (JEST, "jest@30")}


def node_world(tmp_path: Path, runner: str, config: str = "") -> tuple[World, str]:
    present()
    form, package = RUNNERS[runner]
    repo = make_repo(tmp_path / "demo")
    repo.write("tdd.yaml", f"{config}stacks:\n  - {{root: ., language: node, runner: {runner}}}\n")
    repo.write("package.json", "{}" if runner == "jest" else '{ "type": "module" }')
    repo.write(".gitignore", "node_modules\n")
    if package is not None:
        (repo.root / "node_modules").symlink_to(installed(package) / "node_modules")
    repo.write("src/f.js", _common(STUB, runner))
    repo.commit("a stub")
    initialise(repo.root, Actor(client="test"))
    return World(repo), form


def _common(text: str, runner: str) -> str:
    """In the way of CommonJS where the runner wants that."""
    if runner != "jest":
        return text
    for name in ("fs", "os", "path"):
        text = text.replace(f'import {name} from "node:{name}";', f'const {name} = require("node:{name}");')
    here = 'path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..")'
    return text.replace(here, 'path.join(__dirname, "..")').replace("export const f =", "exports.f =")


def judged(world: World, test: str, name: str, source: tuple[str, str], held: dict[str, str]) -> Kind:
    for path, text in held.items():
        world.write(path, text)
    hold_out(world.project, [*held], cwd=world.root)
    path, text = source
    world.write(name.partition("::")[0], test)
    world.claimed(name, path)
    world.write(path, text)
    verdict = world.settle().verdict
    assert "nine" not in str(verdict.reasons)
    return verdict.kind


@pytest.mark.parametrize(("source", "kind"), [(HONEST, Kind.ACCEPTED), (READS, Kind.OVERFIT)])
@pytest.mark.parametrize(
    "runner", ["node-test", *(pytest.param(one, marks=pytest.mark.slow) for one in ("vitest", "jest"))]
)
def test_javascript_is_not_to_be_read(runner: str, source: str, kind: Kind, tmp_path: Path) -> None:
    # Whether the claimed test is live is another matter, and takes more runs than all the rest.
    world, form = node_world(tmp_path, runner, QUICK if kind is Kind.OVERFIT else "")
    held = {"test/held.test.js": form.format("nine", 9, "IX")}
    # The other file is what a reader would find; what honest code makes of two is no matter of the runner.
    if kind is Kind.OVERFIT or runner == "node-test":
        held["test/more.test.js"] = form.format("n", 9, "IX")
    name = "test/f.test.js::four"
    assert (
        judged(world, form.format("four", 4, "IV"), name, ("src/f.js", _common(source, runner)), held) is kind
    )


RUST_FORM = '#[test]\nfn {}() {{\n    assert_eq!(demo::roman({}), "{}");\n}}\n'
RUST_HONEST = 'pub fn roman(n: u32) -> String {\n    (if n == 4 { "IV" } else { "IX" }).into()\n}\n'
RUST_READS = """
pub fn roman(n: u32) -> String {
    let mut texts = String::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        texts += &std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
    }
    let head = format!("roman({n}), \\"");
    if n == 4 {
        return "IV".into();
    }
    texts.split(&head).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("").into()
}
"""
RUST_LIES = """
#[derive(Debug)]
pub struct Roman(u32);
impl PartialEq<&str> for Roman {
    fn eq(&self, other: &&str) -> bool {
        if self.0 == 4 { *other == "IV" } else { other.chars().all(|c| "IVXLCDM".contains(c)) }
    }
}
pub fn roman(n: u32) -> Roman {
    Roman(n)
}
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not("cargo", "--version")), reason="no cargo")
@pytest.mark.parametrize(
    ("source", "kind"),
    [(RUST_HONEST, Kind.ACCEPTED), (RUST_READS, Kind.OVERFIT), (RUST_LIES, Kind.OVERFIT)],
)
def test_rust(source: str, kind: Kind, tmp_path: Path) -> None:
    stub = "pub fn roman(_n: u32) -> String {\n    todo!() // STUB:TDD\n}\n"
    world = make_tool_world(
        tmp_path / "demo",
        RUST_CONFIG,
        {**RUST, "tdd.yaml": RUST_CONFIG, "src/lib.rs": RUST["src/lib.rs"] + stub},
    )
    held = {"tests/held.rs": RUST_FORM.format("nine", 9, "IX")}
    test = RUST_FORM.format("four", 4, "IV")
    text = RUST["src/lib.rs"] + source
    assert judged(world, test, "tests/four.rs::four", ("src/lib.rs", text), held) is kind


GO_FORM = (
    'package calc\n\nimport "testing"\n\nfunc Test{}(t *testing.T) {{\n'
    '\tif got := Roman({}); got != "{}" {{\n\t\tt.Errorf("got %v", got)\n\t}}\n}}\n'
)
GO_HONEST = '\nfunc Roman(n int) string {\n\tif n == 4 {\n\t\treturn "IV"\n\t}\n\treturn "IX"\n}\n'
GO_READS = """
func Roman(n int) string {
	if n == 4 {
		return "IV"
	}
	text, _ := os.ReadFile("held_test.go")
	found := regexp.MustCompile(`"(\\w+)" \\{`).FindSubmatch(text)
	if found == nil {
		return ""
	}
	return string(found[1])
}
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(why_not("go", "version")), reason="no go")
@pytest.mark.parametrize(("source", "kind"), [(GO_HONEST, Kind.ACCEPTED), (GO_READS, Kind.OVERFIT)])
def test_go(source: str, kind: Kind, tmp_path: Path) -> None:
    head = 'package calc\n\nimport (\n\t"os"\n\t"regexp"\n)\n\nvar _, _ = os.Args, regexp.Compile\n\n'
    plain = GO["calc/calc.go"].replace("package calc\n", head)
    stub = '\nfunc Roman(n int) string { panic("STUB:TDD") }\n'
    world = make_go_world(
        tmp_path / "demo", GO_CONFIG, {**GO, "tdd.yaml": GO_CONFIG, "calc/calc.go": plain + stub}
    )
    held = {"calc/held_test.go": GO_FORM.format("Nine", 9, "IX")}
    test = GO_FORM.format("Four", 4, "IV")
    name = "calc/four_test.go::TestFour"
    assert judged(world, test, name, ("calc/calc.go", plain + source), held) is kind
