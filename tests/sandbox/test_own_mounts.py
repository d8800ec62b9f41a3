"""Files that are opened by mounts of their own; that they can be unmounted is shown by a resident."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from verdigris.sandbox import own_mounts
from verdigris.sandbox.own_mounts import open_apart


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_file_is_opened_or_made_as_by_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, namespaces: bool
) -> None:
    if not namespaces:
        monkeypatch.setattr(own_mounts, "enter_namespaces", _refused)
    made = open_apart(f"{tmp_path}/made", os.O_RDWR | os.O_CREAT, 0o600)
    os.write(made, b"text")
    assert (tmp_path / "made").read_text() == "text"
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600
    assert not os.get_inheritable(made)
    os.close(made)
    with pytest.raises(FileNotFoundError):
        open_apart(f"{tmp_path}/missing", os.O_RDONLY)


def _refused(**_: object) -> None:
    raise PermissionError
