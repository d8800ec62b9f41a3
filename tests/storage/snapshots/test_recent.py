from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from verdigris.storage.snapshots import index

if TYPE_CHECKING:
    from pathlib import Path


def test_a_look_tells_a_rewritten_file_apart(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("a")
    before = index.look(tmp_path, "a")
    assert index.look(tmp_path, "a") == before
    path.with_name("b").write_text("b")
    path.with_name("b").replace(path)
    os.utime(path, ns=(path.stat().st_atime_ns, before[1] if before else 0))
    assert index.look(tmp_path, "a") != before
    assert index.look(tmp_path, "none") is None


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    looks = {"odd \udcff\n": (1, 2, 3, 4, 5), "": ()}
    index.save(tmp_path / "fresh", looks)
    assert index.load(tmp_path / "fresh") == looks
    assert index.load(tmp_path / "none") == {}


@pytest.mark.parametrize("damaged", ["{", "[]", "3", '{"a": 1}'])
def test_a_damaged_record_is_as_good_as_none(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "fresh").write_text(damaged)
    assert index.load(tmp_path / "fresh") == {}


def test_a_look_grows_old_with_its_second() -> None:
    looks: dict[str, index.Look] = {
        "old": (index.SECOND - 1,),
        "young": (index.SECOND,),
        "future": (index.SECOND * 9,),
    }
    assert index.young_entries(looks, index.SECOND + 5).keys() == {"young", "future"}
