"""Node's runners: the program on PATH, and the package that the project installed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.value import replace
from verdigris.execution.tools.lookup import OURS, package_file, program
from verdigris.runners.protocol import Toolset
from verdigris.runners.reporter import node_watch
from verdigris.runners.reporter.node_watch import REPORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Runner, RunnerCall

NODE = "install Node.js, and have `node` on PATH"


def find_node_test(environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.node_tools import NodeTest

    found = program("node", environ, NODE)
    return Toolset(NodeTest(found), (found, *OURS))


def find_vitest(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.node_tools import VITEST, Vitest

    found = program("node", environ, NODE)
    script = package_file("vitest", VITEST, _home(stack, root), root)
    return _find_package(Vitest(found, str(script)), found, script, 1)


def find_jest(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.node_tools import JEST, Jest

    found = program("node", environ, NODE)
    script = package_file("jest", JEST, _home(stack, root), root)
    return _find_package(Jest(found, str(script)), found, script, 2)


def watch(call: RunnerCall, limit: float | None) -> RunnerCall:
    """A call of one of these tools that ends when a test does not, in `limit` seconds."""
    if limit is None or REPORT not in call.env:
        return call
    return replace(call, argv=(sys.executable, "-I", "-S", node_watch.__file__, str(limit), *call.argv))


def _home(stack: Stack, root: Path) -> Path:
    return Path(os.path.normpath(root / stack.root))


def _find_package(runner: Runner, node: str, script: Path, depth: int) -> Toolset:
    """`depth`: how far above the script the packages are."""
    packages = os.path.realpath(script.parents[depth])
    return Toolset(runner, (node, *OURS, f"{packages}/."), lead=2, package=str(script))
