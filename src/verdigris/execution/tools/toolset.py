"""Which tool runs a stack, what it is given to find its own things, and what of the user's it reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.compiled import Toolset


def toolset(stack: Stack, root: Path, environ: Mapping[str, str]) -> Toolset:
    """What is missing is a ToolMissing with the next move. Only what the stack needs is loaded."""
    home = root / stack.root
    match stack.runner:
        case "vitest" | "jest" | "node-test":
            from verdigris.execution.tools.node import node

            return node(stack.runner, Path(os.path.normpath(home)), root, environ)
        case "cargo":
            from verdigris.execution.tools.of_rust import cargo

            return cargo(environ)
        case "go":
            from verdigris.execution.tools.of_go import go

            return go(environ)
        case "junit":
            from verdigris.execution.tools.of_junit import junit

            return junit(stack, home, environ)
    raise HarnessError(f"no tool is known for `runner: {stack.runner}`")
