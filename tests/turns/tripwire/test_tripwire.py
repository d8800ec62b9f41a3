from __future__ import annotations

import pytest

from verdigris.core.actions import Deny
from verdigris.core.paths import PathClass
from verdigris.core.state import Phase, Refactor, Turn, WorktreeState
from verdigris.turns.tripwire import Tripped, base, kept_text, moved_back_text, put_back_text

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("cls", PathClass)
def test_what_was_put_back_is_named_with_the_reason(cls: PathClass) -> None:
    text = put_back_text(["a.py"], cls, None)
    assert text.startswith("Put back: a.py. ")
    assert text.endswith("What had been written is kept: `tdd displaced a.py`.")


def test_a_denial_says_why_source_did_not_claim() -> None:
    text = put_back_text(["a.py"], PathClass.SOURCE, Deny("which-red", "Two are red.", "`tdd claim X`"))
    assert "Two are red." in text


def test_a_long_list_is_cut() -> None:
    text = put_back_text([f"{n}.py" for n in range(9)], PathClass.TEST, None)
    assert "4.py and 4 more" in text
    assert "5.py" not in text


@pytest.mark.parametrize(
    ("cls", "phase", "following"),
    [
        (PathClass.SWITCH, Phase.RED, "go on"),
        (PathClass.TEST, Phase.GREEN, "tampered"),
        (PathClass.SPEC, Phase.REFACTOR, "tdd refactor abort"),
    ],
)
def test_what_a_person_changed_is_answered_with_the_right_way(
    cls: PathClass, phase: Phase, following: str
) -> None:
    assert following in kept_text(["a.py"], cls, phase)


def test_a_sync_comes_after_the_open_turn() -> None:
    tried = ("merge", "feat")
    after = moved_back_text(["a.py"], Phase.GREEN, tried)
    assert after.endswith("next: settle the open turn, then `tdd sync -- merge feat`")
    assert moved_back_text(["a.py"], Phase.RED, tried).endswith("next: `tdd sync -- merge feat`")
    assert "`" not in moved_back_text(["a.py"], Phase.RED, ()).partition("next: ")[2]


def test_the_tree_that_a_phase_goes_by() -> None:
    state = WorktreeState(ground="ground")
    green = WorktreeState(phase=Phase.GREEN, ground="ground", turn=Turn("t1", "start"))
    refactor = WorktreeState(phase=Phase.REFACTOR, ground="ground", refactor=Refactor("begun", ""))
    off = WorktreeState(phase=Phase.OFF, ground="ground")
    assert [base(s) for s in (state, green, refactor, off)] == ["ground", "start", "begun", None]


def test_nothing_tripped_is_false() -> None:
    assert not Tripped()
    assert Tripped(kept=("a.py",))
