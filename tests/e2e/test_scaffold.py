"""From an empty folder to proven commits: scaffold, first test run and steps of the machine, by language."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.katas.playing import BOWLING_GAME, STRING_CALCULATOR, Scaffolded, has, scaffold
from support.katas.script import read_script
from support.node_tools import VITEST_3, installed, present

pytestmark = pytest.mark.slow


def check(made: Scaffolded, script_name: str) -> None:
    script, steps = read_script(script_name), 3
    first = made.tdd("test")
    assert (first.code, "1 passed" in first.out) == (0, True), first
    ran = made.play(script, steps)
    assert ran.code == 0, ran
    assert "not accepted" not in ran.out
    made_by_it = [turn for turn in script.turns[:steps] if not turn.stop]
    assert made.subjects() == [
        "chore: scaffold the kata",
        "chore: who plays",
        *script.commits[: len(made_by_it)],
    ]
    assert made.repo.git("status", "--porcelain") == ""
    assert made.tdd("log", "verify").code == 0
    kept = made.tdd("uninit")
    assert "the scaffold stays, for there is work in it" in kept.out


def test_python(tmp_path: Path) -> None:
    made = scaffold(tmp_path, "python", STRING_CALCULATOR)
    assert 'check: "ruff check ."' in (made.repo.root / "tdd.yaml").read_text()
    check(made, "string_calculator_python")


@pytest.mark.skipif(not has("cargo", "cargo-clippy", "rustfmt"), reason="cargo, clippy or rustfmt is missing")
def test_rust(tmp_path: Path) -> None:
    check(scaffold(tmp_path, "rust", BOWLING_GAME), "bowling_game_rust")


def test_typescript(tmp_path: Path) -> None:
    present()
    packages = installed(VITEST_3)
    check(scaffold(tmp_path, "node", STRING_CALCULATOR, packages), "string_calculator_node")
