"""Whether a language's tool is there and starts: rustup can leave a `cargo` on PATH without a toolchain."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from verdigris.core.errors import ToolMissing
from verdigris.core.verdict import first_line
from verdigris.execution.tools.lookup import program

if TYPE_CHECKING:
    from verdigris.languages.script import Program

_PATIENCE = 20.0


def require(needed: Program) -> None:
    found = program(needed.name, os.environ, needed.missing)
    env = {**os.environ, "RUSTUP_AUTO_INSTALL": "0"}
    try:
        ran = subprocess.run(
            [found, needed.version], env=env, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    else:
        if ran.returncode == 0:
            return
        why = first_line((ran.stderr or ran.stdout).strip()) or f"it ends with {ran.returncode}"
    raise ToolMissing(
        f"`{needed.name}` is on PATH, but `{needed.name} {needed.version}` fails: {why}", hint=needed.broken
    )
