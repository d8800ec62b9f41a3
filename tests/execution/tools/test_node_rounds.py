"""Whole rounds in JavaScript with the real vitest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.node_tools import installed, present
from support.tool_worlds import (
    NODE,
    NODE_CONFIG,
    NODE_STUB,
    NODE_SUB,
    NODE_TEST,
    Round,
    make_tool_world,
    play,
)

if TYPE_CHECKING:
    from pathlib import Path

    from support.turns import World

pytestmark = pytest.mark.slow
CALC = NODE["src/calc.js"]
SUBS = "test/sub.test.js::subs"


@pytest.fixture
def world(tmp_path: Path) -> World:
    present()
    return make_tool_world(tmp_path / "demo", NODE_CONFIG, NODE, installed("vitest@2"))


def test_a_round(world: World) -> None:
    world.write("test/sub.test.js", NODE_TEST.replace("calc.js", "nowhere.js"))
    report = world.test(SUBS).report
    assert report is not None
    assert [error.path for error in report.errors] == ["test/sub.test.js"]
    changed = NODE_TEST.replace("toBe(1)", "toBe(2)")
    play(world, Round(SUBS, NODE_TEST, changed, "src/calc.js", CALC, NODE_STUB, NODE_SUB))
