"""Cheats and honest rounds in other languages: one of each class here; `make redteam` tries them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from redteam.collection import cheats_in
from redteam.rounds import LANGUAGES, Place, hindrance, rounds_in

from support.node_tools import VITEST_3, installed
from support.tools import why_not
from verdigris.sandbox.child import available

if TYPE_CHECKING:
    from pathlib import Path

    from redteam.outcomes import Row

EACH = {
    "node": ("node --version", ("assert-is-emptied", "only-under-a-runner")),
    "rust": ("cargo --version", ("equal-string",)),
    "go": ("go version", ("lying-equal",)),
}


@pytest.mark.parametrize("lang", EACH)
def test_the_collection_is_of_some_size(lang: str) -> None:
    cheats, rounds = cheats_in(LANGUAGES / lang), rounds_in(LANGUAGES / lang)
    assert len(cheats) >= 20
    assert len(rounds) >= 8
    assert all(cheat.cheat and cheat.honest for cheat in cheats)
    assert all({"base", "red", "green"} <= one.stages.keys() for one in rounds)


@pytest.mark.slow
@pytest.mark.parametrize("lang", EACH)
def test_one_of_each_class_is_not_accepted_and_the_honest_fix_is(lang: str, tmp_path: Path) -> None:
    rows = tried(lang, tmp_path)
    assert {row.cheat.name: row.tried.verdict for row in rows} == dict.fromkeys(EACH[lang][1], "hollow")
    assert {row.honest.verdict for row in rows} == {"accepted"}


def tried(lang: str, folder: Path) -> list[Row]:
    tool, names = EACH[lang]
    if why := why_not(*tool.split()):
        pytest.skip(why)
    if not available().ok:
        pytest.skip("no sandbox can be made here: nothing is tried in another tree")
    if lang == "node":
        installed(VITEST_3)
    cheats = [cheat for cheat in cheats_in(LANGUAGES / lang) if cheat.name in names]
    return list(Place(folder.resolve(), lang).cheats(cheats))


def test_a_tool_that_is_missing_or_does_not_work_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hindrance("rust") == "`cargo` is not installed"
    tool = tmp_path / "cargo"
    tool.write_text("#!/bin/sh\necho 'error: no default toolchain' >&2\nexit 1\n")
    tool.chmod(0o755)
    assert hindrance("rust") == "`cargo version` fails: error: no default toolchain"
    tool.write_text("#!/bin/sh\nexit 0\n")
    assert hindrance("rust") is None
