"""Node's runners: the program on PATH, and the package that the project installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.execution.tools.lookup import REPORTER, package_file, program
from verdigris.runners.protocol import Toolset

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Runner

NODE = "install Node.js, and have `node` on PATH"


def find_node_test(environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.node_test import NodeTest

    found = program("node", environ, NODE)
    return Toolset(NodeTest(found), (found, REPORTER))


def find_vitest(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.vitest import BIN, Vitest

    found = program("node", environ, NODE)
    script = package_file("vitest", BIN, _home(stack, root), root)
    return _find_package(Vitest(found, str(script)), found, script, 1)


def find_jest(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.jest import BIN, Jest

    found = program("node", environ, NODE)
    script = package_file("jest", BIN, _home(stack, root), root)
    return _find_package(Jest(found, str(script)), found, script, 2)


def _home(stack: Stack, root: Path) -> Path:
    return Path(os.path.normpath(root / stack.root))


def _find_package(runner: Runner, node: str, script: Path, depth: int) -> Toolset:
    """`depth`: how far above the script the packages are."""
    packages = os.path.realpath(script.parents[depth])
    return Toolset(runner, (node, REPORTER, f"{packages}/."), lead=2, package=str(script))
