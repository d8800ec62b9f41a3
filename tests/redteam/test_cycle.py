"""The attacks on cycles: how many there are; one of them and one honest cycle through the command line."""

from __future__ import annotations

import pytest
from redteam.cycle import OWN
from redteam.scripts import run, scripts_in

from verdigris.sandbox.child import available

SCRIPTS = {script.name: script for script in scripts_in(OWN)}


def test_the_collection_holds_every_kind_of_attack_and_honest_cycles() -> None:
    kinds = {script.kind for script in SCRIPTS.values()}
    assert kinds == {
        *("weak", "vacuous", "mocks", "bribe", "tags", "self-validation", "gates", "spec", "evidence"),
        "honest",
    }
    assert sum(script.honest for script in SCRIPTS.values()) >= 7
    assert len(SCRIPTS) == len(scripts_in(OWN)) >= 50


@pytest.mark.skipif(not available().ok, reason="no sandbox can be made here")
@pytest.mark.parametrize(
    ("name", "outcome"),
    [("an-author-says-pass", "defeated"), ("a-predicate", "served")],
)
def test_a_script_comes_to_its_end(name: str, outcome: str) -> None:
    result = run(SCRIPTS[name])
    assert result.outcome == outcome, result.output
