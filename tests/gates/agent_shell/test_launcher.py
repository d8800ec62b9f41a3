from __future__ import annotations

import os
from pathlib import Path

from verdigris.gates.agent_shell.launcher import real_path


def test_a_real_path_is_the_one_that_the_library_finds(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "out").symlink_to("../link/inner")
    (tmp_path / "loop").symlink_to("loop")
    for name in (
        *("real/inner", "link/inner", "link/out", "link/out/missing/x", "nowhere/x", "loop", "loop/x"),
        *("link/../real", "link/./inner", "link//inner", "link/"),
    ):
        assert real_path(f"{tmp_path}/{name}") == os.path.realpath(f"{tmp_path}/{name}")
    for path in ("/", "/etc", "//etc", "relative/x", "."):
        assert real_path(path) == os.path.realpath(path)
