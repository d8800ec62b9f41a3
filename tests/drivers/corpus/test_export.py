"""The folder of a corpus: its bytes, its splits, what is refused and what was scrubbed."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from support.corpora import export, files_below, gather_triples, prove_sub
from support.late_imports import needs
from support.small_disk import fill_disk, small_disk
from support.turns import CALC, SUB, World
from verdigris.core.errors import StorageError, UserError
from verdigris.drivers.corpus.formats import FORMATS, rows

pytestmark = needs("detect_secrets", "the extra verdigris[corpus] is not installed")
TOKEN = "ghp_" + "x7" * 18


@pytest.mark.parametrize("form", FORMATS)
def test_two_exports_are_equal_to_the_byte(proven: World, tmp_path: Path, form: str) -> None:
    for name in ("one", "two"):
        export(proven, tmp_path / name, form)
    assert files_below(tmp_path / "one") == files_below(tmp_path / "two")
    told = json.loads((tmp_path / "one" / "corpus.json").read_bytes())
    assert sum(told["rows"].values()) + len(told["left_out"]) == 2


def test_every_triple_stands_in_the_split_of_its_task(proven: World, tmp_path: Path) -> None:
    done = export(proven, tmp_path / "out")
    read = {triple.id: triple for triple in rows.read_lines(tmp_path / "out")}
    assert read.keys() == {triple.id for triple in gather_triples(proven, tmp_path).triples}
    for split in ("train", "validation", "test"):
        lines = (tmp_path / "out" / f"{split}.jsonl").read_text().splitlines()
        assert done.rows[split] == len(lines)
        assert {json.loads(line)["split"] for line in lines} <= {split}


def test_a_folder_that_is_not_empty_is_refused_without_force(proven: World, tmp_path: Path) -> None:
    export(proven, tmp_path / "out")
    with pytest.raises(UserError, match="not empty"):
        export(proven, tmp_path / "out")
    (tmp_path / "out" / "train.jsonl").write_text("old")
    export(proven, tmp_path / "out", force=True)
    assert all(rows.read_lines(tmp_path / "out"))


def test_force_takes_nothing_away_that_is_no_corpus(proven: World, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="no corpus"):
        export(proven, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "thesis.tex").read_text() == "mine"


def test_a_full_disk_leaves_no_half_corpus_and_with_room_it_is_written(proven: World, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        filler = fill_disk(disk, 8192)
        with pytest.raises(StorageError, match="No space left"):
            export(proven, disk / "out")
        assert [path.name for path in disk.iterdir()] == ["filler"]
        filler.unlink()
        export(proven, disk / "out")
        assert all(rows.read_lines(disk / "out"))


def test_a_full_disk_for_temporary_files_is_told_as_that(
    proven: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        fill_disk(disk)
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        with pytest.raises(StorageError, match="No space left") as refused:
            export(proven, tmp_path / "out")
        assert "free some space" in (refused.value.hint or "")
        monkeypatch.undo()
    assert not (tmp_path / "out").exists()


def test_a_secret_in_the_edit_is_nowhere_in_the_corpus_and_is_reported(world: World, tmp_path: Path) -> None:
    world.test()
    world.write("tests/test_sub.py", "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n")
    world.claimed()
    world.write("calc.py", f'{CALC}\n\nTOKEN = "{TOKEN}"\n{SUB}')
    assert world.settle().verdict.accepted
    for form in FORMATS:
        done = export(world, tmp_path / form, form)
        assert [data for data in files_below(tmp_path / form).values() if TOKEN.encode() in data] == []
        assert ("calc.py", True) in {(one.file, one.count > 0) for one in done.scrubbed}
    [triple] = rows.read_lines(tmp_path / "triples")
    assert triple.scrubbed
    assert '+TOKEN = "[scrubbed: ' in triple.patch
    told = json.loads((tmp_path / "triples" / "corpus.json").read_bytes())
    assert told["scrubbed"][0]["file"] == "calc.py"
    export(world, tmp_path / "kept", scrub=False)
    assert TOKEN in next(iter(rows.read_lines(tmp_path / "kept"))).patch


def test_a_triple_without_a_commit_before_it_is_no_row_and_is_named(world: World, tmp_path: Path) -> None:
    prove_sub(world)
    world.repo.git("update-ref", "refs/heads/keep", "HEAD")
    [triple] = gather_triples(world, tmp_path).triples
    from verdigris.core.value import replace
    from verdigris.drivers.corpus.contents import CorpusContents
    from verdigris.drivers.corpus.formats import swebench

    made = swebench.render(CorpusContents((replace(triple, against_commit=None),)))
    assert sum(made.rows.values()) == 0
    assert made.left_out[0].what == triple.id
    assert "no commit" in made.left_out[0].why
