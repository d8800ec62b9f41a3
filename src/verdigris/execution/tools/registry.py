"""By the name of a runner: how its tool is found, how its tests are compiled first, how it runs warm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError
from verdigris.execution.tools.runs import node_caches, output_folders
from verdigris.runners.registry import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.build import Compiler
    from verdigris.execution.tools.runs import Ran, RunPlace
    from verdigris.runners.protocol import Runner, RunnerCall, Toolset

    Environ = Mapping[str, str]
    WarmRun = Callable[[RunnerCall, RunPlace, float, float | None], Ran | None]


def find_tool(stack: Stack, root: Path, environ: Environ) -> Toolset:
    """What is missing is a ToolMissing with the next move. Only what the stack needs is loaded."""
    find = _FINDERS.get(stack.runner) or kind_of(stack.runner).find
    if find is None:
        raise HarnessError(f"no tool is known for `runner: {stack.runner}`")
    return find(stack, root, environ)


def compiler_of(name: str, runner: Runner) -> Compiler | None:
    """What compiles the tests apart from their run; None where the tool does not, or does both at once."""
    make = _COMPILERS.get(name)
    return None if make is None else make(runner)


def warm_run_of(name: str) -> WarmRun | None:
    """What runs a call in a tool that is loaded already."""
    load = _WARM.get(name)
    return None if load is None else load()


def hidden_paths(stack: Stack, root: Path) -> tuple[str, ...]:
    """What the tool keeps of earlier runs, from the root; a run on another tree is not to find it."""
    list_paths = _KEPT.get(stack.runner)
    return () if list_paths is None else tuple(list_paths(stack, root))


def _vitest(stack: Stack, root: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.node import find_vitest

    return find_vitest(stack, root, environ)


def _jest(stack: Stack, root: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.node import find_jest

    return find_jest(stack, root, environ)


def _node_test(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.node import find_node_test

    return find_node_test(environ)


def _cargo(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.cargo import find_cargo

    return find_cargo(environ)


def _go(_: Stack, __: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.go import find_go

    return find_go(environ)


def _junit(stack: Stack, root: Path, environ: Environ) -> Toolset:
    from verdigris.execution.tools.junit import find_junit

    return find_junit(stack, root / stack.root, environ)


def _cargo_target(runner: Runner) -> Compiler | None:
    from verdigris.execution.tools.cargo import CargoTarget
    from verdigris.runners.cargo import CargoRunner

    return CargoTarget(runner) if isinstance(runner, CargoRunner) else None


def _go_cache(runner: Runner) -> Compiler | None:
    from verdigris.execution.tools.go import GoCache
    from verdigris.runners.gotest import GoRunner

    return GoCache(runner) if isinstance(runner, GoRunner) else None


def _warm_vitest() -> WarmRun:
    from verdigris.execution.tools.warm_vitest import ran_warm

    return ran_warm


_FINDERS = {
    "vitest": _vitest,
    "jest": _jest,
    "node-test": _node_test,
    "cargo": _cargo,
    "go": _go,
    "junit": _junit,
}
_COMPILERS = {"cargo": _cargo_target, "go": _go_cache}
_WARM = {"vitest": _warm_vitest}
_KEPT = {
    "vitest": node_caches,
    "jest": node_caches,
    "node-test": node_caches,
    "junit": output_folders,
}
