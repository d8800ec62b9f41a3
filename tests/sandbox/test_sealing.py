from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from support.cage import elsewhere, shown
from verdigris.sandbox import confinement

if TYPE_CHECKING:
    from support.cage import Cage
    from verdigris.sandbox.syscalls import Way


@pytest.mark.skipif(os.geteuid() != 0, reason="as root the file is writable but for the seal")
@pytest.mark.parametrize("way", ["mapped", "own", "plain"])
def test_one_by_one_where_the_kernel_is_old(one: Cage, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    def missing(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(confinement, "set_mount_attributes", missing)
    command = f"echo x > /etc/verdigris-was-here; echo x > file; echo x > {one.home}/file; : > /dev/null; ls"
    said = elsewhere(lambda: shown(one.confinement(), way, command))
    assert said.startswith("file\n")
    assert said.count("Read-only") == 1
    assert (one.home / "file").exists()
