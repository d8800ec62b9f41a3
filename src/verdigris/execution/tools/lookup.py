"""Finds a test tool: a program on PATH, a package in `node_modules`, or a preset that writes JUnit XML."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, ToolMissing
from verdigris.core.settings import JUnit
from verdigris.core.value import replace
from verdigris.runners import reporter
from verdigris.runners.junit import PRESETS, JUnitRunner, JUnitTool
from verdigris.runners.protocol import Toolset
from verdigris.runners.reporter import node_watch
from verdigris.runners.reporter.node_watch import REPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Runner, RunnerCall

    Lent = tuple[tuple[str, str], ...]


REPORTER = str(reporter.__file__)
"""Beside it lies what the tools are made to load."""
OURS = (sys.executable, f"{sys.prefix}/.", f"{sys.base_prefix}/.", REPORTER)
"""Our own interpreter, and what it runs around each test binary."""
_INSTALL = {
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile",
    "yarn.lock": "yarn install --immutable",
    "bun.lock": "bun install",
    "bun.lockb": "bun install",
    "package-lock.json": "npm ci",
}
"""By lock file: how the packages come that it names."""


def program(name: str, environ: Mapping[str, str], hint: str, *, beside: Path | None = None) -> str:
    """On PATH; a name with a `/` in it is looked for in the folder `beside`."""
    if "/" in name:
        found = (beside or Path()) / name
        if os.access(found, os.X_OK) and found.is_file():
            return str(found)
    elif there := shutil.which(name, path=environ.get("PATH", os.defpath)):
        return str(Path(there).absolute())
    raise ToolMissing(f"{name} cannot be found", hint=hint)


def package_file(package: str, script: str, home: Path, root: Path, lent: Lent = ()) -> Path:
    """A file of an installed package, by its path from the stack: hoisted ones lie in a folder above.

    `lent`: folders that a run finds at paths from the root, over what lies there.
    """
    for folder in _upwards(home, root):
        found = folder / script
        if real_place(found, root, lent).is_file():
            return found
    raise _missing_package(package, home, root)


def real_place(path: Path, root: Path, lent: Lent) -> Path:
    """Where a file lies that a run finds at the path."""
    for folder, place in lent:
        if path.is_relative_to(root / place):
            return Path(folder) / path.relative_to(root / place)
    return path


def _missing_package(package: str, home: Path, root: Path) -> ToolMissing:
    for folder in _upwards(home, root):
        if (folder / ".pnp.cjs").is_file() or (folder / ".pnp.js").is_file():
            return ToolMissing(
                f"{package} is not in node_modules: Yarn keeps packages in archives here (Plug'n'Play)",
                hint="`yarn config set nodeLinker node-modules && yarn install`",
            )
    where = "" if home == root else f" of {home.relative_to(root)}"
    if any((folder / "node_modules").is_dir() for folder in _upwards(home, root)):
        return ToolMissing(
            f"{package} is not installed in node_modules{where}", hint=_add_command(package, home, root)
        )
    return ToolMissing(
        f"{package} cannot be run: the packages{where} are not installed",
        hint=f"`{install_command(home, root)}`",
    )


def install_command(home: Path, root: Path) -> str:
    """What brings the packages, by the lock file that is there."""
    for folder in _upwards(home, root):
        for lock, command in _INSTALL.items():
            if (folder / lock).is_file():
                return command
    return "npm install"


def _add_command(package: str, home: Path, root: Path) -> str:
    command = install_command(home, root)
    tool = command.split()[0]
    verb = "install" if tool == "npm" else "add"
    return f"`{command}`; where it is no dependency yet, `{tool} {verb} -D {package}`"


def _upwards(home: Path, root: Path) -> Iterator[Path]:
    """Yields folders from the stack's up to the worktree's root."""
    yield home
    for folder in home.parents:
        if not folder.is_relative_to(root):
            return
        yield folder


def junit_tool(said: JUnit | None) -> JUnitTool:
    """What is unsaid stays as the preset has it; a command of one's own does not go with its `everything`."""
    said = said or JUnit()
    base = PRESETS.get(said.preset)
    if base is None and not said.command:
        raise ConfigError(
            "`runner: junit` needs to know the tool",
            hint=f"give `junit: {{preset: NAME}}` ({', '.join(PRESETS)}), or `junit.command`",
        )
    given = {name: value for name in _NAMES if (value := getattr(said, name)) not in {None, ()}}
    if base is None:
        return JUnitTool(**given)
    if said.command and not said.everything:
        base = replace(base, everything=())
    return replace(base, **given)


_NAMES = tuple(one.name for one in fields(JUnit) if one.name != "preset")


_LOCAL = {"mvn": "./mvnw", "gradle": "./gradlew", "phpunit": "vendor/bin/phpunit", "rspec": "bin/rspec"}
"""Programs that a project may have of its own."""
_OF_JUNIT = (".m2", ".gradle", ".ivy2", ".sbt", ".cache/coursier", ".composer", ".bundle", ".gem", ".nuget")
"""Below the user's home: what such tools read, and insist on writing to."""


def find_junit(stack: Stack, home: Path, environ: Mapping[str, str]) -> Toolset:
    tool = junit_tool(stack.junit)
    name = tool.command[0]
    own = _LOCAL.get(name)
    if own is not None and shutil.which(name, path=environ.get("PATH")) is None and (home / own).is_file():
        tool = replace(
            tool,
            command=(own, *tool.command[1:]),
            everything=(own, *tool.everything[1:]) if tool.everything else (),
        )
    found = program(
        tool.command[0], environ, f"install {name}, or name another in `junit.command`", beside=home
    )
    folders = (f"{environ.get('HOME', '')}/{folder}" for folder in _OF_JUNIT)
    return Toolset(JUnitRunner(tool), (found,), reads=tuple(filter(os.path.isdir, folders)))


NODE = "install Node.js, and have `node` on PATH"


def find_node_test(environ: Mapping[str, str]) -> Toolset:
    from verdigris.runners.node_tools import NodeTest

    found = program("node", environ, NODE)
    return Toolset(NodeTest(found), (found, *OURS))


def find_vitest(stack: Stack, root: Path, environ: Mapping[str, str], lent: Lent = ()) -> Toolset:
    from verdigris.runners.node_tools import VITEST, Vitest

    found = program("node", environ, NODE)
    script = package_file("vitest", VITEST, _home(stack, root), root, lent)
    packages = real_place(script, root, lent).parents[1]
    return _with_packages(Vitest(found, str(script)), found, script, packages)


def find_jest(stack: Stack, root: Path, environ: Mapping[str, str], lent: Lent) -> Toolset:
    from verdigris.runners.node_tools import JEST, Jest

    found = program("node", environ, NODE)
    script = package_file("jest", JEST, _home(stack, root), root, lent)
    packages = real_place(script, root, lent).parents[2]
    return _with_packages(Jest(found, str(script)), found, script, packages)


def watch(call: RunnerCall, limit: float | None) -> RunnerCall:
    """A call of one of these tools that ends when a test does not, in `limit` seconds."""
    if limit is None or REPORT not in call.env:
        return call
    return replace(call, argv=(sys.executable, "-I", "-S", node_watch.__file__, str(limit), *call.argv))


def _home(stack: Stack, root: Path) -> Path:
    return Path(os.path.normpath(root / stack.root))


def _with_packages(runner: Runner, node: str, script: Path, packages: Path) -> Toolset:
    return Toolset(runner, (node, *OURS, f"{os.path.realpath(packages)}/."), lead=2, package=str(script))
