"""Go: offline, with the modules that the user's `go` has fetched to read."""

# Paths are text: they go into variables and arguments.
# ruff: noqa: PTH112

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.execution.tools.compiled import Toolset
from verdigris.execution.tools.go_cache import CACHE, GoCache
from verdigris.execution.tools.lookup import OURS, program
from verdigris.runners.gotest import GoRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

GO = "install Go, and have `go` on PATH"


def go(environ: Mapping[str, str]) -> Toolset:
    """Modules are read where the user's `go` put them; what is missing there is not fetched."""
    found = program("go", environ, GO)
    path = environ.get("GOPATH") or str(Path(environ.get("HOME", "/")) / "go")
    modules = environ.get("GOMODCACHE") or f"{path.split(os.pathsep)[0]}/pkg/mod"
    runner = GoRunner(found, sys.executable)
    there = os.path.isdir(modules)
    return Toolset(
        runner,
        (found, *OURS),
        env={
            "GOPROXY": "off",
            "GOPATH": path,
            CACHE: environ.get(CACHE) or f"{_caches(environ)}/go-build",
            **({"GOMODCACHE": modules} if there else {}),
        },
        reads=(modules,) if there else (),
        compiler=GoCache(runner),
    )


def _caches(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME', '')}/.cache"
