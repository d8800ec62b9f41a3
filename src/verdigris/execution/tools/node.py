"""Finds Node and the test package that the project installed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from verdigris.execution.tools.build import Toolset
from verdigris.execution.tools.lookup import REPORTER, package_file, program

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.runners.protocol import Runner

NODE = "install Node.js, and have `node` on PATH"


def node(runner: str, home: Path, root: Path, environ: Mapping[str, str]) -> Toolset:
    found = program("node", environ, NODE)
    if runner == "node-test":
        from verdigris.runners.node_test import NodeTest

        return Toolset(NodeTest(found), (found, REPORTER))
    made, script, depth = _packaged(runner, found, home, root)
    packages = os.path.realpath(script.parents[depth])
    return Toolset(made, (found, REPORTER, f"{packages}/."), lead=2)


def _packaged(runner: str, found: str, home: Path, root: Path) -> tuple[Runner, Path, int]:
    """The runner, its script, and how far above that the packages are."""
    if runner == "vitest":
        from verdigris.runners import vitest

        script = package_file(runner, vitest.BIN, home, root)
        return vitest.Vitest(found, str(script)), script, 1
    from verdigris.runners import jest

    script = package_file(runner, jest.BIN, home, root)
    return jest.Jest(found, str(script)), script, 2
