"""A tool that writes JUnit XML: finds it on this machine, as the stack's `junit` keys describe it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from verdigris.core.errors import ConfigError
from verdigris.core.settings import JUnit, Stack
from verdigris.core.value import replace
from verdigris.execution.tools.registry import Environ, Lent, TestTool, path_in, program
from verdigris.runners.junit import PRESETS, JUnitRunner, JUnitTool
from verdigris.runners.protocol import Toolset

_LOCAL = {"mvn": "./mvnw", "gradle": "./gradlew", "phpunit": "vendor/bin/phpunit", "rspec": "bin/rspec"}
"""Programs that a project may contain itself."""
_OF_JUNIT = (".m2", ".gradle", ".ivy2", ".sbt", ".cache/coursier", ".composer", ".bundle", ".gem", ".nuget")
"""Folders in the user's home that such tools read, and want to write to."""
_OUTPUT = ("target", "build", ".gradle", ".phpunit.cache", ".phpunit.result.cache")


class ReportWriter(TestTool):
    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:  # noqa: ARG002 - of installed packages
        home, tool = root / stack.root, junit_tool(stack.junit)
        name = tool.command[0]
        own = _LOCAL.get(name)
        if (
            own is not None
            and shutil.which(name, path=environ.get("PATH")) is None
            and (home / own).is_file()
        ):
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

    def kept_paths(self, stack: Stack, root: Path) -> Iterator[str]:  # noqa: ARG002 - also paths that do not exist
        return (path_in(stack, name) for name in _OUTPUT)


def tools_of_command(stack: Stack, command: tuple[str, ...]) -> Toolset:
    """The toolset of a user's command that writes JUnit XML itself, whatever the stack's runner is."""
    said = replace(stack.junit or JUnit(), command=command, everything=())
    return Toolset(JUnitRunner(junit_tool(said)), ())


def junit_tool(said: JUnit | None) -> JUnitTool:
    """The tool of the `junit` keys.

    The preset gives what they leave out, but not `everything` for another command.
    """
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
TOOLS = {"junit": ReportWriter()}
