"""Cargo: as rustup chooses it, offline, with the user's downloads to read."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.execution.tools.cargo_target import CargoTarget
from verdigris.execution.tools.compiled import Toolset
from verdigris.execution.tools.lookup import OURS, program
from verdigris.runners.cargo import CargoRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

RUST = "install Rust (rustup), and have `cargo` on PATH"


def cargo(environ: Mapping[str, str]) -> Toolset:
    """The program is mostly rustup's, which chooses a toolchain by the folder it is started in."""
    found = program("cargo", environ, RUST)
    above = str(Path(found).parents[2])
    home, rustup = (
        _own(environ.get(name), (environ.get("HOME", ""), above), folder)
        for name, folder in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup"))
    )
    runner = CargoRunner(found, sys.executable)
    env = {
        "CARGO_NET_OFFLINE": "true",
        "RUSTC_WRAPPER": "",
        "RUSTUP_AUTO_INSTALL": "0",
        "CARGO_TERM_COLOR": "never",
    }
    env |= {name: path for name, path in (("CARGO_HOME", home), ("RUSTUP_HOME", rustup)) if path}
    return Toolset(
        runner,
        (found, *OURS, *([f"{rustup}/."] if rustup else [])),
        env=env,
        reads=tuple(filter(None, [home])),
        compiler=CargoTarget(runner),
    )


def _own(said: str | None, homes: tuple[str, ...], folder: str) -> str | None:
    """A folder of the user's: as a variable says, or in one of these homes; None where there is none."""
    paths = (said,) if said else (f"{home}/{folder}" for home in homes)
    return next(filter(os.path.isdir, paths), None)
