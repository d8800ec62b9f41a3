from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.cli import Cli


@pytest.mark.slow
def test_the_play_ends_in_an_acceptance_and_a_whole_log(bare_cli: Cli) -> None:
    where = bare_cli.repo.home
    ran = bare_cli.tdd("demo", env={"TMPDIR": str(where)})
    assert ran.code == 0, ran
    for answer in (
        "denied [red-first]",
        "denied [red-passing]",
        "denied [frozen-oracle]",
        "[tdd] regressed",
        "[tdd] accepted",
    ):
        assert answer in ran.out
    assert ran.out.index("[tdd] regressed") < ran.out.index("[tdd] accepted")
    played, shown = ran.out.split("the machine")
    assert "log intact: " in played
    assert "replay" in shown
    assert ("test: " in shown, "feat: " in shown, "steps-made" in shown) == (True, True, True)
    assert shown.count("log intact: ") == 1
