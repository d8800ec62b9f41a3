# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH208

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cage import Cage, elsewhere
from verdigris.sandbox.child import available, try_way
from verdigris.sandbox.entry import STEPS
from verdigris.sandbox.syscalls import mount


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    available.cache_clear()
    yield
    available.cache_clear()


def test_found_by_confining_a_child(one: Cage) -> None:
    found = available()
    assert (found.ok, found.network, found.why) == (True, True, "")
    assert found.way == one.way
    assert [ability.name for ability in found.abilities] == list(STEPS)
    assert available() is found


def test_the_attempt_leaves_nothing(one: Cage, tmp_path: Path) -> None:
    assert all(ability.ok for ability in try_way(one.way, str(tmp_path), disk=True))
    assert os.listdir(tmp_path) == []


def test_what_went_wrong_is_said_of_the_step(
    one: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise PermissionError(1, "no such luck")

    monkeypatch.setattr("verdigris.sandbox.entry.seal", broken)
    refused = {
        ability.name: ability.why for ability in try_way(one.way, str(tmp_path), disk=True) if not ability.ok
    }
    assert "overlay" not in refused
    assert refused["read-only"] == "[Errno 1] no such luck"
    assert refused["network"] == "not tried"


def test_only_the_network_is_refused(one: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(network: str) -> None:
        if network != "host":
            raise PermissionError(1, "no network")

    monkeypatch.setattr("verdigris.sandbox.entry.enter_network", refused)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = available()
    assert (found.ok, found.network) == (True, False)
    assert found.why == "network: [Errno 1] no network"


def test_steps_that_do_nothing_are_found_out_by_their_effect(
    one: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verdigris.sandbox.entry.mount_overlay", lambda *_, **__: None)
    monkeypatch.setattr("verdigris.sandbox.entry.make_private", lambda *_, **__: [])
    monkeypatch.setattr("verdigris.sandbox.entry.seal", lambda *_: None)
    refused = {ability.name for ability in try_way(one.way, str(tmp_path), disk=True) if not ability.ok}
    assert refused == {"overlay", "read-only"}


def test_without_a_process_table_of_its_own_the_rest_is_tried(
    one: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise PermissionError(1, "no table")

    monkeypatch.setattr("verdigris.sandbox.entry.enter_table", refused)
    found = available(str(tmp_path))
    assert (found.ok, found.network, found.processes) == (True, True, False)
    assert found.why == "processes: [Errno 1] no table"


def test_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert not available().ok
    assert "Linux" in available().why


@pytest.mark.skipif(os.geteuid() != 0, reason="needs mounts to begin with")
def test_a_container_whose_root_is_an_overlay(one: Cage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("lower", "upper0", "work0", "merged")
    lower, upper, work, merged = (str(one.folder / name) for name in names)
    for name in names:
        (one.folder / name).mkdir()

    def container() -> str:
        mount("overlay", merged, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")
        found = available(merged)
        return f"{found.ok} {found.disk}"

    assert elsewhere(container) == "True False", "what a run writes is kept in memory"
