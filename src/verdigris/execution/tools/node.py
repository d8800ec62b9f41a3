"""vitest, jest and node:test on this machine: finds them, and checks their versions."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from verdigris.core.settings import Stack
from verdigris.core.value import replace, value
from verdigris.execution.tools.node_packages import (
    MODULES,
    files_below,
    install_command,
    package_file,
    package_of,
    real_place,
)
from verdigris.execution.tools.registry import (
    OURS,
    Environ,
    Lent,
    TestTool,
    ToolCheck,
    Version,
    check_program,
    home_of,
    name_in,
    path_in,
    program,
    version,
    write_version,
)
from verdigris.execution.tools.runs import Ran, RunPlace
from verdigris.runners.node import JEST, VITEST, Jest, NodeTest, Vitest
from verdigris.runners.protocol import Runner, RunnerCall, Toolset
from verdigris.runners.registry import kind_of
from verdigris.runners.reporter import node_watch
from verdigris.runners.reporter.node_watch import REPORT

NODE = "install Node.js, and have `node` on PATH"
_INSTALLED = frozenset({".bin", ".pnpm", ".store", ".package-lock.json", ".modules.yaml", ".yarn-integrity"})
"""Hidden names in `node_modules` that package managers write; all others are caches."""


class NodeTestTool(TestTool):
    """`node:test`, which Node.js brings."""

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:  # noqa: ARG002 - of packages
        found = program("node", environ, NODE)
        return Toolset(NodeTest(found), (found, *OURS))

    def limited(self, call: RunnerCall, limit: float | None) -> RunnerCall:
        if limit is None or REPORT not in call.env:
            return call
        return replace(call, argv=(sys.executable, "-I", "-S", node_watch.__file__, str(limit), *call.argv))

    def installation(self, stack: Stack, root: Path, package: str = "") -> str:  # noqa: ARG002 - all packages at once
        return install_command(home_of(stack, root), root)

    def kept_paths(self, stack: Stack, root: Path) -> Iterator[str]:
        for folder in dict.fromkeys((path_in(stack, MODULES), MODULES)):
            try:
                names = os.listdir(root / folder)
            except OSError:
                continue
            yield from (f"{folder}/{n}" for n in names if n.startswith(".") and n not in _INSTALLED)


@value
class PackagedTool(NodeTestTool):
    """A test tool that is a package in `node_modules`."""

    package: str
    script: str
    """The script that node runs, relative to the folder that contains `node_modules`."""
    make: Callable[[str, str], Runner]

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
        found = program("node", environ, NODE)
        script = package_file(self.package, self.script, home_of(stack, root), root, lent)
        packages = next(p for p in real_place(script, root, lent).parents if p.name == MODULES)
        programs = (found, *OURS, f"{os.path.realpath(packages)}/.")
        return Toolset(self.make(found, str(script)), programs, lead=2, package=str(script))

    def foundation_files(self, tools: Toolset, root: Path) -> Iterator[str]:
        return files_below(Path(tools.package), root)

    def check(self, stack: Stack, root: Path) -> Iterator[ToolCheck]:
        """One check of Node.js, and one of the package that it runs."""
        check, tools, answer = check_program(self.find, stack, root)
        yield check
        if tools is not None:
            yield self._check_package(stack, root, tools, answer)

    def _check_package(self, stack: Stack, root: Path, tools: Toolset, node: str) -> ToolCheck:
        name, oldest = name_in(stack, stack.runner), kind_of(stack.runner).oldest
        described = package_of(Path(tools.package)) / "package.json"
        try:
            said = json.loads(described.read_bytes())
            found, wanted = str(said["version"]), str(said.get("engines", {}).get("node", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            fix = f"`{install_command(root / stack.root, root)}`"
            return ToolCheck(name, f"{described} cannot be read", fix)
        if version(found) < oldest:
            fix = f"install {self.package} {write_version(oldest)} or newer"
            return ToolCheck(name, f"{found} is too old", fix)
        if not fits(version(node), wanted):
            what = f"{found} needs node {wanted}, and {node} is there"
            return ToolCheck(name, what, "install a newer Node.js")
        return ToolCheck(name, found)


class VitestTool(PackagedTool):
    def run_warm(self, call: RunnerCall, place: RunPlace, timeout: float, limit: float | None) -> Ran | None:
        from verdigris.execution.tools.warm_vitest import run_in_resident

        return run_in_resident(call, place, timeout, limit)


_BOUND = re.compile(r"(\^|~|>=|<=|>|<|=)?\s*v?(\d+(?:\.(?:\d+|[x*]))*)")


def fits(found: Version, wanted: str) -> bool:
    """Whether a version fits a range: one alternative between `||` must.

    A range that we do not understand fits.
    """
    choices = [_BOUND.findall(choice) for choice in wanted.split("||")]
    return not all(choices) or any(all(_holds(found, *bound) for bound in choice) for choice in choices)


def _holds(found: Version, sign: str, bound: str) -> bool:
    given = tuple(int(part) for part in bound.split(".") if part.isdigit())
    full = (*given, 0, 0)[:3]
    match sign:
        case ">=":
            return found >= full
        case "<":
            return found < full
        case ">":
            return found > full
        case "<=":
            return found <= full or found[: len(given)] == given
        case "^":
            fixed = 1 if full[0] else 2
            return found >= full and found[:fixed] == full[:fixed]
        case "~":
            return found >= full and found[:2] == full[:2]
        case _:
            return found[: len(given)] == given


TOOLS = {
    "vitest": VitestTool("vitest", VITEST, Vitest),
    "jest": PackagedTool("jest", JEST, Jest),
    "node-test": NodeTestTool(),
}
