"""Triples are replayed by the kernel, in rooms over the repository that they are from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.corpora import export, files_below
from support.late_imports import needs
from support.turns import World
from verdigris.core.errors import UserError
from verdigris.core.value import replace
from verdigris.drivers.corpus.contents import open_objects
from verdigris.drivers.corpus.formats import rows
from verdigris.drivers.corpus.formats.rows import json_line
from verdigris.drivers.corpus.replay import ReplayAnswer, ReplayRequest, replay_triple, verify_corpus
from verdigris.drivers.corpus.triple import Triple, render_triple
from verdigris.storage.repository import find_repository

pytestmark = needs("detect_secrets", "the extra verdigris[corpus] is not installed")


@pytest.mark.parametrize("form", ["triples", "swebench", "parquet"])
def test_every_triple_of_an_honest_log_holds_and_nothing_in_the_repository_changes(
    proven: World, tmp_path: Path, form: str
) -> None:
    export(proven, tmp_path / "out", form)
    before = files_below(proven.root)
    done = list(verify_corpus(proven.root, ReplayRequest(tmp_path / "out")))
    assert [one.answer for one in done] == [ReplayAnswer.HOLDS] * 2
    assert all("1 red before and green after" in one.why for one in done)
    assert files_below(proven.root) == before


def the_triple(world: World, folder: Path) -> Triple:
    """The one of `sub`."""
    export(world, folder)
    return next(one for one in rows.read_lines(folder) if "test_sub" in one.reds[0].id)


def replayed(world: World, triple: Triple) -> tuple[ReplayAnswer, str]:
    with open_objects(find_repository(world.root)) as objects:
        done = replay_triple(objects, triple, 60)
        return done.answer, done.why


def test_what_was_changed_in_a_corpus_does_not_hold(proven: World, tmp_path: Path) -> None:
    triple = the_triple(proven, tmp_path / "out")
    forged = replace(triple, patch=triple.patch.replace("return a - b", "return a + b"))
    answer, why = replayed(proven, forged)
    assert (answer, "patch does not lead" in why) == (ReplayAnswer.FAILS, True)


def test_a_test_that_passes_before_the_edit_does_not_hold(proven: World, tmp_path: Path) -> None:
    triple = the_triple(proven, tmp_path / "out")
    late = replace(triple, red_tree=triple.green_tree, test_patch="", patch="", against_commit=None)
    assert replayed(proven, late) == (
        ReplayAnswer.FAILS,
        "tests/test_sub.py::test_sub is not red before the edit",
    )


def test_a_test_that_fails_after_the_edit_does_not_hold(proven: World, tmp_path: Path) -> None:
    triple = the_triple(proven, tmp_path / "out")
    idle = replace(triple, green_tree=triple.red_tree, test_patch="", patch="", against_commit=None)
    answer, why = replayed(proven, idle)
    assert (answer, why) == (ReplayAnswer.FAILS, "tests/test_sub.py::test_sub does not pass after the edit")


def test_a_tree_that_is_not_here_blames_nobody(proven: World, tmp_path: Path) -> None:
    triple = the_triple(proven, tmp_path / "out")
    foreign = replace(triple, base_tree="1" * 40, red_tree="2" * 40, green_tree="3" * 40, base_commit="")
    answer, why = replayed(proven, foreign)
    assert (answer, "2" * 40 in why) == (ReplayAnswer.UNVERIFIED, True)


def test_a_damaged_line_is_named(proven: World, tmp_path: Path) -> None:
    triple = the_triple(proven, tmp_path / "out")
    damaged = {name: one for name, one in render_triple(triple).items() if name != "reds"}
    (tmp_path / "out" / "train.jsonl").write_bytes(json_line(damaged))
    with pytest.raises(UserError, match=r"train\.jsonl, line 1: .*reds"):
        list(verify_corpus(proven.root, ReplayRequest(tmp_path / "out")))
    (tmp_path / "out" / "train.jsonl").write_bytes(b"{oops\n")
    with pytest.raises(UserError, match=r"train\.jsonl, line 1 is not JSON"):
        list(verify_corpus(proven.root, ReplayRequest(tmp_path / "out")))


def test_a_folder_without_triples_is_refused_with_what_to_name(proven: World, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no corpus"):
        list(verify_corpus(proven.root, ReplayRequest(tmp_path)))
    export(proven, tmp_path / "talk", "chat")
    with pytest.raises(UserError, match="conversations"):
        list(verify_corpus(proven.root, ReplayRequest(tmp_path / "talk")))
    export(proven, tmp_path / "out")
    with pytest.raises(UserError, match="no triple x"):
        list(verify_corpus(proven.root, ReplayRequest(tmp_path / "out", ("x",))))


def test_the_report_of_an_export_says_nothing_of_this_machine(proven: World, tmp_path: Path) -> None:
    export(proven, tmp_path / "out")
    for name, data in files_below(tmp_path / "out").items():
        assert str(tmp_path).encode() not in data, name
        assert str(proven.root).encode() not in data, name
    assert json.loads((tmp_path / "out" / "corpus.json").read_bytes())["format"] == "triples"
