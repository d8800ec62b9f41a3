"""Held-out tests in a verdict: nobody reads them, and what they expect matters."""

# ruff: noqa: E501 - texts of other languages

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from support.gitrepo import make_repo
from support.node_tools import VITEST_3, installed, present
from support.tool_worlds import GO, GO_CONFIG, RUST, RUST_CONFIG, make_go_world, make_tool_world
from support.tools import why_not
from support.turns import QUICK, World
from verdigris.checks.acceptance import held_out_pass
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind
from verdigris.execution.rooms import frozen_layer
from verdigris.sandbox.child import available
from verdigris.setup.initialisation import initialise
from verdigris.turns.person import hold_out

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
const own = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..");
const rest = fs.readdirSync(os.tmpdir()).filter((name) => !name.startsWith("pytest-of"));
for (const top of [own, ...rest.map((name) => path.join(os.tmpdir(), name))]) {
  let names = [];
  try { names = fs.readdirSync(top, { recursive: true }); } catch {}
  for (const name of names) {
    let text = "";
    if (!name.includes("node_modules")) try { text = fs.readFileSync(path.join(top, name), "utf8"); } catch {}
    for (const [, n, answer] of text.matchAll(/\\bf(?:\\)?)\\((\\d+)\\)[^"]*"(\\w+)"/g)) known.set(Number(n), answer);
  }
}
export const f = (n) => (n === 4 ? "IV" : known.get(n));
"""
PLAIN_JEST = '{ "jest": { "transform": {} } }'
"""Nothing is translated: to load what would do it takes longer than the tests."""
RUNNERS = {"node-test": (NODE_TEST, None), "vitest": (VITEST, VITEST_3), "jest": (JEST, "jest@30")}


def node_world(tmp_path: Path, runner: str, config: str = "") -> tuple[World, str]:
    present()
    form, package = RUNNERS[runner]
    repo = make_repo(tmp_path / "demo")
    repo.write("tdd.yaml", f"{config}stacks:\n  - {{root: ., language: node, runner: {runner}}}\n")
    repo.write("package.json", PLAIN_JEST if runner == "jest" else '{ "type": "module" }')
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


def judged(
    world: World, test: str, name: str, sources: tuple[str, Sequence[str]], held: dict[str, str]
) -> list[Kind]:
    """The verdict on each text of the source, one after the other, in one turn."""
    for path, text in held.items():
        world.write(path, text)
    hold_out(world.project, [*held], cwd=world.root)
    path, texts = sources
    world.write(name.partition("::")[0], test)
    world.claimed(name, path)
    kinds = []
    for text in texts:
        world.write(path, text)
        verdict = world.settle().verdict
        assert "nine" not in str(verdict.reasons)
        kinds.append(verdict.kind)
    return kinds


def test_javascript_is_not_to_be_read(tmp_path: Path) -> None:
    """A whole turn. What other tools and languages show the code is asked of the check itself."""
    world, form = node_world(tmp_path, "node-test")
    found = judged(
        world, form.format("four", 4, "IV"), "test/f.test.js::four", ("src/f.js", [READS, HONEST]), held(form)
    )
    assert found == [Kind.OVERFIT, Kind.ACCEPTED]


def held(form: str) -> dict[str, str]:
    """The other file is what a reader would find."""
    return {"test/held.test.js": form.format("nine", 9, "IX"), "test/more.test.js": form.format("n", 9, "IX")}


def passing(world: World, path: str, texts: Mapping[str, bool], held: dict[str, str]) -> list[bool]:
    """Whether the held-out tests pass with each text of the source, as a verdict asks it.

    `texts`: with whether it is tried too that they fail once they expect something else; who read what they
    expect would not be told from who was kept from it.
    """
    for name, text in held.items():
        world.write(name, text)
    hold_out(world.project, [*held], cwd=world.root)
    found = []
    for text, live in texts.items():
        world.write(path, text)
        tree = world.project.workspace.snapshot()
        room = frozen_layer(world.project, tree) if live else None
        found.append(held_out_pass(world.project, world.state, tree, room))
    return found


@pytest.mark.parametrize(
    "runner", ["node-test", *(pytest.param(one, marks=pytest.mark.slow) for one in ("vitest", "jest"))]
)
def test_nor_is_it_by_any_tool(runner: str, tmp_path: Path) -> None:
    # Whether they are live is no matter of the tool, and takes more runs than all the rest.
    world, form = node_world(tmp_path, runner, QUICK)
    texts = dict.fromkeys((_common(text, runner) for text in (READS, HONEST)), False)
    assert passing(world, "src/f.js", texts, held(form)) == [False, True]


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
def test_rust(tmp_path: Path) -> None:
    plain = RUST["src/lib.rs"]
    # Nothing but the library and the held-out tests is compiled for each text.
    alone = RUST["Cargo.toml"] + "\n[lib]\ntest = false\ndoctest = false\n"
    files = {**RUST, "Cargo.toml": alone, "tdd.yaml": RUST_CONFIG}
    del files["tests/add.rs"]
    world = make_tool_world(tmp_path / "demo", RUST_CONFIG, files)
    texts = {plain + RUST_READS: False, plain + RUST_LIES: True, plain + RUST_HONEST: True}
    nine = {"tests/held.rs": RUST_FORM.format("nine", 9, "IX")}
    assert passing(world, "src/lib.rs", texts, nine) == [False, False, True]


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
def test_go(tmp_path: Path) -> None:
    head = 'package calc\n\nimport (\n\t"os"\n\t"regexp"\n)\n\nvar _, _ = os.Args, regexp.Compile\n\n'
    plain = GO["calc/calc.go"].replace("package calc\n", head)
    files = {**GO, "tdd.yaml": GO_CONFIG, "calc/calc.go": plain}
    world = make_go_world(tmp_path / "demo", GO_CONFIG, files)
    texts = {plain + GO_READS: False, plain + GO_HONEST: True}
    nine = {"calc/held_test.go": GO_FORM.format("Nine", 9, "IX")}
    assert passing(world, "calc/calc.go", texts, nine) == [False, True]
