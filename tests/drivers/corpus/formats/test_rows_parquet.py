from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml

from support.corpora import made_triple
from support.late_imports import needs
from verdigris.core.errors import UserError
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.formats import rows

pytestmark = needs("pyarrow", "the extra verdigris[corpus] is not installed")


def write(folder: Path, gathered: CorpusContents) -> None:
    for name, data in rows.render_parquet(gathered).files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_rows_read_back_as_their_triples(tmp_path: Path) -> None:
    triples = (made_triple("one"), made_triple("two", against_commit=None, weakening=("lost",)))
    write(tmp_path, CorpusContents(triples))
    assert sorted(rows.read_parquet(tmp_path), key=lambda triple: triple.id) == list(triples)


def test_lists_are_lists_in_a_table() -> None:
    library = pytest.importorskip("pyarrow.parquet")
    [data] = [
        data
        for name, data in rows.render_parquet(CorpusContents((made_triple(),))).files
        if name.endswith("train.parquet")
    ] or [b""]
    table = library.read_table(io.BytesIO(data))
    if table.num_rows == 0:
        pytest.fail("the made-up triple is in another split: give it another name")
    assert table.column("fail_to_pass").to_pylist() == [["tests/test_sub.py::test_sub"]]
    assert table.column("reds").to_pylist()[0][0]["kind"] == "AttributeError"


def test_the_card_names_the_files_of_splits_that_have_rows() -> None:
    files = dict(rows.render_parquet(CorpusContents((made_triple(),))).files)
    _, head, body = files["README.md"].decode().split("---\n", 2)
    [config] = yaml.safe_load(head)["configs"]
    assert [file["path"] for file in config["data_files"]] == ["data/train.parquet"]
    assert "| train | 1 |" in body
    assert "ada/calc" in body


def test_the_same_triples_give_the_same_bytes() -> None:
    gathered = CorpusContents((made_triple("one"), made_triple("two")))
    assert rows.render_parquet(gathered).files == rows.render_parquet(gathered).files


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.parquet").write_bytes(b"PAR0")
    with pytest.raises(UserError, match=r"train\.parquet"):
        list(rows.read_parquet(tmp_path))
