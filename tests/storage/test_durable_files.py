from __future__ import annotations

import json
from pathlib import Path

import pytest

from verdigris.core.errors import StorageError, UserError
from verdigris.storage.durable_files import append_line, read_lines

HEADER = {"lines": "ours", "schema": 1}


def read(path: Path) -> list[object]:
    return [document for _, document in read_lines(path, header=HEADER, what="a file of lines", hint="none")]


def test_lines_come_back_in_order_after_their_header(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for number in range(3):
        append_line(file, {"n": number}, header=HEADER)
    assert json.loads(file.read_text().splitlines()[0]) == HEADER
    assert read(file) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_torn_last_line_is_left_out_and_replaced_by_the_next(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    append_line(file, {"n": 0}, header=HEADER)
    with file.open("a") as torn:
        torn.write('{"n": 1')
    assert read(file) == [{"n": 0}]
    append_line(file, {"n": 2}, header=HEADER)
    assert read(file) == [{"n": 0}, {"n": 2}]


def test_a_file_of_somebody_else_is_not_read_as_ours(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("hello\n")
    with pytest.raises(UserError, match="is not a file of lines"):
        read(file)
    with pytest.raises(UserError, match="cannot read") as missing:
        read(tmp_path / "none")
    assert missing.value.hint == "make it readable, or name another file"


def test_a_line_that_is_no_json_is_named_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f"{json.dumps(HEADER)}\njunk\n")
    with pytest.raises(UserError, match="line 2") as refused:
        read(file)
    assert refused.value.hint == "none"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot write"):
        append_line(tmp_path / "no" / "folder", {}, header=HEADER)
