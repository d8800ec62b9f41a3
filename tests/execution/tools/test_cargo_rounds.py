"""Whole rounds in Rust with the real cargo, and what is kept of a build."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.tool_worlds import (
    RUST,
    RUST_CONFIG,
    RUST_STUB,
    RUST_SUB,
    RUST_TEST,
    Round,
    make_tool_world,
    play,
)
from support.tools import why_not
from support.turns import World
from verdigris.core.report import Status

WHY_NOT = why_not("cargo", "--version")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
ADD = RUST["src/lib.rs"]
SUBS = "tests/sub.rs::subs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_tool_world(tmp_path / "demo", RUST_CONFIG, RUST)


def green(world: World) -> None:
    world.write("src/lib.rs", ADD + RUST_STUB)
    world.write("tests/sub.rs", RUST_TEST)
    world.claimed(SUBS, "src/lib.rs")


def test_a_round(world: World) -> None:
    world.write("tests/sub.rs", RUST_TEST)
    (run,) = world.test(SUBS).tests
    assert (run.red, bool(run.over)) == ("valid", True)
    changed = RUST_TEST.replace("1)", "2)")
    play(world, Round(SUBS, RUST_TEST, changed, "src/lib.rs", ADD, RUST_STUB, RUST_SUB))
    assert not (world.root / "target").exists()


def test_a_text_with_an_old_time_is_built_nevertheless(world: World) -> None:
    green(world)
    file = world.root / "src/lib.rs"
    old = file.stat().st_mtime_ns
    world.write("src/lib.rs", ADD + RUST_SUB)
    os.utime(file, ns=(old, old))
    assert world.test(SUBS).passed
    world.write("src/lib.rs", ADD + RUST_STUB)
    os.utime(file, ns=(old, old))
    assert not world.test(SUBS).passed


POISON = """\
use std::{fs, path::Path};

fn spoil(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            spoil(&path);
        } else {
            let _ = fs::write(&path, "spoilt");
        }
    }
}

#[test]
fn spoils() {
    spoil(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/target")));
}
"""


def test_what_tests_write_into_the_build_is_gone_with_their_room(world: World) -> None:
    world.write("tests/spoils.rs", POISON)
    [spoils] = [run for run in world.test("tests/spoils.rs").tests if run.native_id.endswith("::spoils")]
    assert spoils.status is Status.PASS
    files = (file for file in world.project.repo.private.glob("caches/**/*") if file.is_file())
    assert not [file for file in files if file.read_bytes() == b"spoilt"]
    assert world.test("tests/add.rs::adds").passed


def test_the_worktrees_own_target_is_not_read(world: World) -> None:
    world.write("target/debug/deps/spoilt", "x")
    link = world.root / "target" / "elsewhere"
    link.symlink_to(world.root.parent)
    assert world.test().passed
    assert (world.root / "target/debug/deps/spoilt").read_text() == "x"


BUILD = """\
fn main() {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());
    std::fs::write(out.ancestors().nth(4).unwrap().join("left-behind"), "x").unwrap();
}
"""


def test_what_an_unaccepted_build_script_writes_is_kept_for_itself_alone(world: World) -> None:
    assert world.test().passed
    [usual] = world.project.repo.private.glob("caches/cargo/*")
    world.write("build.rs", BUILD)
    assert world.test().passed
    [left] = world.project.repo.private.glob("caches/**/left-behind")
    assert not left.is_relative_to(usual)
    (world.root / "build.rs").unlink()
    assert world.test().passed
    assert not list(usual.glob("**/left-behind"))


def test_a_bug_that_hangs_is_red_and_the_tool_says_where(tmp_path: Path) -> None:
    """What a verdict makes of its fix is seen with node, and in Python."""
    hanging = RUST_SUB.replace("    a - b\n", "    while a > b {}\n    a - b\n")
    files = {**RUST, "src/lib.rs": ADD + hanging}
    world = make_tool_world(tmp_path / "demo", RUST_CONFIG + "room: {test_timeout: 1}\n", files)
    world.write("tests/sub.rs", RUST_TEST)
    [result] = world.test(SUBS).tests
    where = "Timeout: stopped after 1 s, while it ran in src/lib.rs:"
    assert (result.red, result.failure[: len(where)]) == ("valid", where)
