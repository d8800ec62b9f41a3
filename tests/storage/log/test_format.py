from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import verdigris
from verdigris.storage.log.format import decode, encode
from verdigris.storage.log.light import digest

names = st.binary().map(os.fsdecode)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(names, values, max_size=5))
def test_any_fields_survive_as_one_line_of_ascii(fields: dict[str, object]) -> None:
    line = encode(fields)

    assert decode(line) == fields
    assert b"\n" not in line
    assert line.isascii()


def test_the_line_is_compact() -> None:
    assert encode({"a": [1, "é\udcff"], "b": None}) == rb'{"a":[1,"\u00e9\udcff"],"b":null}'


@pytest.mark.parametrize("line", [b"", b"\xff", b"[1]", b"{", b'{"a":1} x', b"[" * 100_000])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(line)


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"a": float("nan")})


def test_the_digest_is_sha256() -> None:
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_it_can_be_imported_without_anything_heavy() -> None:
    source = Path(verdigris.__file__).parents[1]
    heavy = {"dataclasses", "typing", "pathlib", "inspect", "contextlib"}
    code = (
        f"import sys; sys.path.insert(0, {os.fspath(source)!r}); import verdigris.storage.log.format;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )

    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"
