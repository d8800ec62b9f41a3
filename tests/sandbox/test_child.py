from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.cage import Cage, elsewhere
from verdigris.core.errors import ToolMissing
from verdigris.sandbox import child
from verdigris.sandbox.child import (
    REFUSAL,
    REFUSED,
    Ability,
    Availability,
    forget,
    preexec,
    recall_availability,
)
from verdigris.sandbox.syscalls import mount


def allowed(monkeypatch: pytest.MonkeyPatch, found: Availability) -> None:
    monkeypatch.setattr(child, "available", lambda *_: found)


def test_a_child_that_cannot_be_confined_does_not_run(one: Cage) -> None:
    confine = preexec(one.confinement())
    (one.folder / "work").rmdir()
    done = subprocess.run(
        ["touch", str(one.home / "ran")],
        cwd=one.root,
        preexec_fn=confine,
        capture_output=True,
        check=False,
    )
    assert done.returncode == REFUSED
    assert done.stderr.startswith(REFUSAL + b"overlay: ")
    assert not (one.home / "ran").exists()


def test_a_folder_that_is_gone_inside_is_said(one: Cage) -> None:
    one.write("root/sub/file")
    done = one.run("true", cwd=str(one.root / "sub"), removed=("sub",))
    assert (done.code, done.out) == (REFUSED, "")
    assert "sub" in done.err


def test_nothing_is_run_where_nothing_can_be_confined(one: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(
        monkeypatch,
        Availability(None, disk=False, abilities=(Ability("namespaces", ok=False, why="not here"),)),
    )
    with pytest.raises(ToolMissing, match="namespaces: not here"):
        preexec(one.confinement())


def test_a_network_that_cannot_be_had(one: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(
        monkeypatch,
        Availability(one.way, disk=False, abilities=(Ability("network", ok=False, why="not here"),)),
    )
    with pytest.raises(ToolMissing, match="network: not here"):
        preexec(one.confinement(network="none"))
    assert callable(preexec(one.confinement(network="host")))


@pytest.mark.skipif("os.geteuid() != 0", reason="needs mounts to begin with")
def test_a_mount_below_the_tree_of_a_plain_user(one: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed(monkeypatch, Availability("own", disk=False, abilities=(Ability("network", ok=True),)))
    (one.root / "volume").mkdir()

    def work() -> str:
        mount("tmpfs", str(one.root / "volume"), "tmpfs", 0)
        with pytest.raises(ToolMissing, match="volume"):
            preexec(one.confinement())
        return "said"

    assert elsewhere(work) == "said"


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch, one: Cage, tmp_path: Path) -> list[str]:
    """How often it was tried."""
    made: list[str] = []

    def available(_: str) -> Availability:
        made.append("tried")
        return Availability(one.way, disk=True, abilities=(Ability("network", ok=False, why="no net"),))

    monkeypatch.setattr(available, "cache_clear", lambda: None, raising=False)
    monkeypatch.setattr(child, "available", available)
    return made


def test_tried_once_and_remembered(tmp_path: Path, trials: list[str], one: Cage) -> None:
    note = str(tmp_path / "note")
    for _ in range(3):
        found = recall_availability(note)
        assert (found.way, found.disk, found.ok, found.network) == (one.way, True, True, False)
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
    monkeypatch.setattr(child, "available", lambda _: Availability(None, disk=False, abilities=()))
    assert not recall_availability(str(tmp_path / "note")).ok
    assert not (tmp_path / "note").exists()


def test_a_disk_that_takes_no_note_is_no_matter(tmp_path: Path, trials: list[str]) -> None:
    assert recall_availability(str(tmp_path / "nowhere" / "note")).ok
