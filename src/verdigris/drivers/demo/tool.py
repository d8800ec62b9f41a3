"""Whether a language's tool is there and starts: rustup can leave a `cargo` on PATH without a toolchain."""

from __future__ import annotations

import os
import subprocess

from verdigris.core.errors import ToolMissing
from verdigris.core.verdict import first_line
from verdigris.kernel.tools.lookup import program

_PATIENCE = 20.0


def require(name: str, version: str, *, missing: str, broken: str) -> None:
    """`version`: what makes it say its version. `missing`, `broken`: what a person does about it."""
    found = program(name, os.environ, missing)
    env = {**os.environ, "RUSTUP_AUTO_INSTALL": "0"}
    try:
        ran = subprocess.run(
            [found, version], env=env, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    else:
        if ran.returncode == 0:
            return
        why = first_line((ran.stderr or ran.stdout).strip()) or f"it ends with {ran.returncode}"
    raise ToolMissing(f"`{name}` is on PATH, but `{name} {version}` fails: {why}", hint=broken)
