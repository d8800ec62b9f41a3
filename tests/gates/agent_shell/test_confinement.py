"""The same confinement by the older calls of the system."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from verdigris.gates.agent_shell import confinement
from verdigris.gates.agent_shell.card import HOLE, MASKED, READONLY
from verdigris.sandbox import available
from verdigris.sandbox.syscalls import ways

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def in_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 70
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def writes(path: Path) -> bool:
    try:
        path.joinpath("x").write_text("x")
    except OSError:
        return False
    return True


@pytest.mark.parametrize("missing", ["", "copied_mount", "set_mount_attributes"])
def test_everything_is_read_only_but_the_holes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    def no_such_call(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    if missing:
        monkeypatch.setattr(confinement, missing, no_such_call)
    for name in ("hole/kept/inner", "hole/masked", "rest"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "hole/masked/secret").write_text("x")
    planned = [
        (str(tmp_path / "gone"), HOLE),
        (str(tmp_path / "hole"), HOLE),
        (str(tmp_path / "hole/kept"), READONLY),
        (str(tmp_path / "hole/kept/inner"), HOLE),
        (str(tmp_path / "hole/masked"), MASKED),
    ]

    def look() -> None:
        confinement.confine(planned, ways()[0])
        found = [name for name in ("rest", "hole", "hole/kept", "hole/kept/inner") if writes(tmp_path / name)]
        assert found == ["hole", "hole/kept/inner"], found
        assert list((tmp_path / "hole/masked").iterdir()) == []

    if not available().ok:
        pytest.skip("no namespaces here")
    assert in_child(look) == 0
    assert not (tmp_path / "rest/x").exists()
    assert (tmp_path / "hole/kept/inner/x").exists()
