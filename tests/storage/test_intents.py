from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.core.errors import HarnessError
from verdigris.core.events import Announcement, Event, Syncing
from verdigris.core.value import value
from verdigris.storage import intents
from verdigris.storage.intents import finisher_of, finishes

if TYPE_CHECKING:
    from verdigris.storage.project import Project


@value
class Painting(Announcement):
    """Of a package that is not ours."""


def _is_ours(kind: type[Event]) -> bool:
    return issubclass(kind, Announcement) and kind not in {Announcement, Painting}


def test_every_intent_of_ours_has_a_way_to_be_finished() -> None:
    kinds = [kind for kind in Event.kinds.values() if _is_ours(kind)]

    assert Syncing in kinds
    assert all(callable(finisher_of(kind)) for kind in kinds)


def test_an_intent_that_nobody_finishes_is_our_fault_and_says_what_to_do() -> None:
    with pytest.raises(HarnessError, match="Painting") as error:
        finisher_of(Painting)

    assert error.value.hint


def test_another_package_registers_an_intent_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents, "_FINISHERS", dict(intents._FINISHERS))

    @finishes(Painting)
    def finish(_project: Project, _intent: Painting) -> str:
        return "painted"

    assert finisher_of(Painting) is finish
