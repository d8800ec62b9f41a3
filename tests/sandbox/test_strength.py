"""What was confined once is never run weaker because of an error, as the control area remembers it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verdigris.core.errors import ConfinementLost, StorageError
from verdigris.sandbox import strength

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("before", "now", "refused"),
    [
        ("", "", False),
        ("", "plain", False),
        ("plain", "mapped", False),
        ("own", "own", False),
        ("mapped", "own", True),
        ("own", "plain", True),
        ("plain", "", True),
        ("own", "", True),
    ],
)
def test_a_weaker_way_is_refused(tmp_path: Path, before: str, now: str, *, refused: bool) -> None:
    control = str(tmp_path)
    strength.require(control, {strength.SHELL: before})
    assert bool(strength.find_weaker(control, {strength.SHELL: now})) == refused
    if refused:
        with pytest.raises(ConfinementLost) as lost:
            strength.require(control, {strength.SHELL: now})
        assert strength.ACCEPT in (lost.value.hint or "")
        strength.accept(control, {strength.SHELL: now})
    strength.require(control, {strength.SHELL: now})


def test_kinds_and_users_are_told_apart(tmp_path: Path) -> None:
    control, other = str(tmp_path), os.geteuid() + 1
    (tmp_path / strength.NAME).write_text(f"shell {other} mapped\n")
    strength.require(control, {strength.SHELL: "", strength.RUN: "own"})
    assert strength.remembered(control) == {strength.RUN: "own"}
    strength.accept(control, {strength.RUN: "plain"})
    assert f"shell {other} mapped" in (tmp_path / strength.NAME).read_text()


@pytest.mark.parametrize("damage", ["", "x", "shell 0", "a b c d\n", "\0\xff"])
def test_a_damaged_file_asks_for_the_strongest_way(tmp_path: Path, damage: str) -> None:
    control, strongest = str(tmp_path), "mapped" if os.geteuid() == 0 else "own"
    (tmp_path / strength.NAME).write_bytes(damage.encode("latin-1"))
    assert strength.find_weaker(control, {strength.SHELL: ""})
    strength.require(control, {strength.SHELL: strongest})
    strength.accept(control, {})
    strength.require(control, {strength.SHELL: ""})


def test_a_folder_in_its_place_does_so_too(tmp_path: Path) -> None:
    (tmp_path / strength.NAME).mkdir()
    assert strength.find_weaker(str(tmp_path), {strength.RUN: ""})
    strength.require(str(tmp_path), {strength.RUN: "mapped"})
    with pytest.raises(StorageError) as denied:
        strength.accept(str(tmp_path), {strength.RUN: "plain"})
    assert denied.value.hint == f"`rm -r {tmp_path / strength.NAME}`"
