"""What is kept is found again under its key, and by the code that found it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from verdigris.drivers import answer_keys
from verdigris.drivers.answer_keys import answer_key, digest_code, key_of


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "judge.py").write_text("ANSWER = 1\n")
    return tmp_path


def other_digest(code: Path) -> str:
    digest_code.cache_clear()
    return digest_code(code)


def test_the_digest_tells_texts_and_names_apart(code: Path) -> None:
    before = other_digest(code)
    (code / "part" / "judge.py").write_text("ANSWER = 2\n")
    edited = other_digest(code)
    (code / "part" / "judge.py").rename(code / "judge.py")
    assert len({before, edited, other_digest(code)}) == 3


def test_bytecode_is_no_part_of_the_digest(code: Path) -> None:
    before = other_digest(code)
    (code / "part" / "__pycache__").mkdir()
    (code / "part" / "__pycache__" / "judge.cpython-311.pyc").write_bytes(b"\0")
    assert other_digest(code) == before


def test_other_code_under_the_same_version_asks_again(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, environment = answer_key("tree"), key_of("lock file")
    monkeypatch.setattr(answer_keys, "CODE", code)
    assert answer_key("tree") != ours
    assert key_of("lock file") == environment
