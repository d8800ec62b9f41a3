from __future__ import annotations

import pytest

from support.turns import World
from verdigris.core.errors import HarnessError
from verdigris.execution.rooms import attempt_confined


def test_an_attempt_that_was_refused_is_made_once_more(world: World) -> None:
    said: list[str | int] = ["refused", 5]
    assert attempt_confined(world.project, lambda: said.pop(0)) == 5


def test_what_cannot_be_confined_is_not_run(world: World) -> None:
    said = ["refused", "refused again", "never"]
    with pytest.raises(HarnessError, match="could not be confined, so it was not made: refused again"):
        attempt_confined(world.project, lambda: said.pop(0))
    assert said == ["never"]
