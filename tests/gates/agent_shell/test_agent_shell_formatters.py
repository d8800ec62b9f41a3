"""Each language's own formatter in an agent's shell: equal trees stay, in red and in green."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.node_tools import VITEST_3, installed, present
from support.shelled import Shelled, case, shelled
from support.tools import why_not
from support.turns import SUB_ID
from verdigris.core.records import Actor
from verdigris.core.value import value
from verdigris.storage.project import open_project
from verdigris.turns.tripwire.calls import before_call

pytestmark = pytest.mark.slow

CONFIG = """\
  - {root: go, language: go}
  - {root: rust, language: rust}
  - {root: web, language: node}
claims: strict
"""
FILES = {
    "go/go.mod": "module rooms\n\ngo 1.21\n",
    "go/room.go": "package rooms\nfunc Area( a,b int ) int { return a*b }\n",
    "rust/Cargo.toml": '[package]\nname = "rooms"\nversion = "0.1.0"\nedition = "2021"\n',
    "rust/src/lib.rs": "pub fn area( a:i32,b:i32 )->i32{ a*b }\n",
    "web/package.json": '{"name": "rooms", "type": "module"}\n',
    "web/src/room.js": "export function area( a,b ) { return a*b }\n",
}


@value
class Formatter:
    path: str
    command: str
    """Formats the file, from the repository's root."""
    formatted: str
    other: str
    """The same with another tree."""


GOFMT = Formatter(
    "go/room.go",
    "{tool} -w go",
    "package rooms\n\nfunc Area(a, b int) int { return a * b }\n",
    "package rooms\nfunc Area( a,b int ) int { return a+b }\n",
)
RUSTFMT = Formatter(
    "rust/src/lib.rs",
    "{tool} --edition 2021 rust/src/lib.rs",
    "pub fn area(a: i32, b: i32) -> i32 {\n    a * b\n}\n",
    "pub fn area( a:i32,b:i32 )->i32{ a+b }\n",
)
CARGO_FMT = Formatter(
    RUSTFMT.path, "{tool} fmt --manifest-path rust/Cargo.toml", RUSTFMT.formatted, RUSTFMT.other
)
PRETTIER = Formatter(
    "web/src/room.js",
    "{tool} --write web/src/room.js",
    "export function area(a, b) {\n  return a * b;\n}\n",
    "export function area( a,b ) { return a+b }\n",
)


def tool_of(formatter: Formatter) -> str:
    """How it is called; skips with the tool's own words where it cannot be had."""
    if formatter is PRETTIER:
        present()
        program = installed(VITEST_3) / "node_modules/prettier/bin/prettier.cjs"
        return f"{shutil.which('node')} {program}"
    name, asked = {GOFMT.path: ("gofmt", "-h")}.get(formatter.path, ("rustfmt", "--version"))
    name = "cargo-fmt" if formatter is CARGO_FMT else name
    if reason := why_not("go", "version") if formatter is GOFMT else why_not(name, asked):
        pytest.skip(reason)
    tool = str(shutil.which(name))
    return f"PATH={Path(tool).parent}:$PATH cargo" if formatter is CARGO_FMT else tool


@pytest.fixture(scope="module")
def shell() -> Iterator[Shelled]:
    plain_user, why = case("root" if os.geteuid() == 0 else "user")
    if why:
        pytest.skip(f"not possible here: {why}")
    with shelled(plain_user=plain_user, config=CONFIG, **FILES) as made:
        yield made


def formatted(shell: Shelled, formatter: Formatter) -> None:
    """Ugly again, formatted inside a call; then the gate's next look."""
    command = formatter.command.format(tool=tool_of(formatter))
    home = {name: path for name, path in os.environ.items() if name in {"RUSTUP_HOME", "CARGO_HOME"}}
    done = shell.run(command, env=home)
    assert done.code == 0, done
    assert "[tdd]" not in done.err, done
    assert not before_call(open_project(shell.root, Actor("agent", "s", "claude")))
    assert shell.root.joinpath(formatter.path).read_text() == formatter.formatted


@pytest.mark.parametrize("formatter", [GOFMT, RUSTFMT, CARGO_FMT, PRETTIER], ids=lambda f: f.command)
def test_it_formats_in_red_and_what_else_it_changes_goes_back(shell: Shelled, formatter: Formatter) -> None:
    formatted(shell, formatter)
    shell.root.joinpath(formatter.path).write_text(FILES[formatter.path])
    done = shell.run(f"printf '%s' '{formatter.other}' > {formatter.path}")
    assert f"[tdd] Put back: {formatter.path}" in done.err
    assert shell.root.joinpath(formatter.path).read_text() == FILES[formatter.path]


@pytest.mark.parametrize("formatter", [GOFMT, RUSTFMT, PRETTIER], ids=lambda f: f.command)
def test_in_green_it_formats_outside_strict_targets_and_joins_no_claim(
    shell: Shelled, formatter: Formatter
) -> None:
    shell.green()
    shell.root.joinpath(formatter.path).write_text(FILES[formatter.path])
    formatted(shell, formatter)
    assert shell.world.state.claims[SUB_ID].targets == ("src",)
