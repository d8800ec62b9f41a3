from __future__ import annotations

from verdigris.core.state import Phase, WorktreeState
from verdigris.views import switched


def test_a_switch_tells_the_phase() -> None:
    off = WorktreeState(phase=Phase.OFF, off_why="spike")
    assert switched.lines(off)[0].text == "phase off: spike"
