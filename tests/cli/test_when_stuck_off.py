from __future__ import annotations

import pytest

from verdigris.cli import when_stuck
from verdigris.core.state import Phase, WorktreeState

pytestmark = pytest.mark.quick


def test_a_switch_tells_the_phase() -> None:
    off = WorktreeState(phase=Phase.OFF, off_why="spike")
    assert when_stuck.switched_lines(off, "go on")[0].text == "phase off: spike"
