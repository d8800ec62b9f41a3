from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verdigris.sandbox import child
from verdigris.sandbox.child import Ability, Availability, forget, recall_availability

if TYPE_CHECKING:
    from pathlib import Path

    from support.cage import Cage


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, one: Cage, tmp_path: Path) -> list[str]:
    """How often it was tried."""
    made: list[str] = []

    def available() -> Availability:
        made.append("tried")
        return Availability(one.way, str(tmp_path), (Ability("network", ok=False, why="no net"),))

    monkeypatch.setattr(child, "available", available)
    return made


def test_tried_once_and_remembered(tmp_path: Path, trials: list[str], one: Cage) -> None:
    note = str(tmp_path / "note")
    for _ in range(3):
        found = recall_availability(note)
        assert (found.way, found.place, found.ok, found.network) == (one.way, str(tmp_path), True, False)
        assert found.why == "network: no net" or "no net" in found.why
    assert trials == ["tried"]
    forget(note)
    recall_availability(note)
    assert trials == ["tried", "tried"]


@pytest.mark.parametrize("damage", ["", "junk", "a\0b\0c\0d", "\0\0\0\0\0"])
def test_a_note_that_says_nothing_is_no_matter(tmp_path: Path, trials: list[str], damage: str) -> None:
    (tmp_path / "note").write_text(damage)
    assert recall_availability(str(tmp_path / "note")).ok
    assert trials == ["tried"]


def test_another_system_is_tried_anew(
    tmp_path: Path, trials: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recall_availability(str(tmp_path / "note"))
    monkeypatch.setattr(child, "_system", lambda: "started anew")
    recall_availability(str(tmp_path / "note"))
    assert trials == ["tried", "tried"]


def test_what_does_not_work_is_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "available", lambda: Availability(None, "", ()))
    assert not recall_availability(str(tmp_path / "note")).ok
    assert not (tmp_path / "note").exists()


def test_a_disk_that_takes_no_note_is_no_matter(tmp_path: Path, trials: list[str]) -> None:
    assert recall_availability(str(tmp_path / "nowhere" / "note")).ok
