from __future__ import annotations

import pytest

from verdigris.cli import worktree
from verdigris.turns.git import Moved

pytestmark = pytest.mark.quick


def test_a_move_tells_the_new_ground_and_what_git_waits_for() -> None:
    assert worktree.moved_lines(Moved(0, (), None)) == []
    many = worktree.moved_lines(Moved(1, tuple(map(str, range(12))), "rebase"))
    assert many[0].text.endswith("and 2 more")
    assert many[1].text == "a rebase is in progress"
