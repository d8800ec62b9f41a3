"""Attacks and honest calls of our own, against the gate and against two controls that prove the scoring."""

from __future__ import annotations

from pathlib import Path

import pytest
from redteam.bypass import OWN, Place
from redteam.bypass_cases import Case, cases_in

from verdigris.sandbox.child import available

NAMES = dict.fromkeys(("{ROOT}", "{INPUTS}", "{CONTROL}", "{STATE}"), "")
EACH = (
    ("off-pipeline", "off-env-i", "forged-line", "filter-outside", "trace2-into-the-log", "source-by-sync"),
    ("proc-root", "nohup-later", "draft-link", "ancestor-swap", "source-by-worktree", "switch-in-off"),
)
"""One of each class; `make redteam` tries them all."""
SERVED = (
    ("source-here-doc", "git-commit-source", "git-push"),
    ("background-server", "red-write-test", "off-source"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("bypass").resolve())


def named(place: Place, names: tuple[str, ...]) -> list[Case]:
    found = {case.name: case for case in cases_in(OWN, place.names)}
    return [found[name] for name in names]


def test_the_collection_is_of_some_size_and_names_each_call_once() -> None:
    cases = cases_in(Path(OWN), NAMES)
    assert len({case.name for case in cases}) == len(cases)
    assert sum(case.attack for case in cases) >= 40
    assert sum(not case.attack for case in cases) >= 20


@pytest.mark.slow
@pytest.mark.skipif(not available().ok, reason="the shell's attacks are the sandbox's to defeat")
@pytest.mark.parametrize("names", EACH)
def test_attacks_are_defeated_and_a_gate_that_allows_all_defeats_none(
    place: Place, names: tuple[str, ...]
) -> None:
    cases = named(place, names)
    assert {case.name: place.score(case, "tdd").outcome for case in cases} == dict.fromkeys(names, "defeated")
    assert {place.score(case, "allow-all").outcome for case in cases[:1]} == {"THROUGH"}


@pytest.mark.slow
@pytest.mark.parametrize("names", SERVED)
def test_honest_calls_are_served_and_a_gate_that_denies_all_serves_none(
    place: Place, names: tuple[str, ...]
) -> None:
    cases = named(place, names)
    assert {case.name: place.score(case, "tdd").outcome for case in cases} == dict.fromkeys(names, "served")
    assert {place.score(case, "deny-all").outcome for case in cases[:1]} == {"REFUSED"}
