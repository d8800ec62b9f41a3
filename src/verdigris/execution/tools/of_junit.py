"""Any tool that writes JUnit XML: found on PATH, or where projects keep one of their own."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from verdigris.execution.tools.compiled import Toolset
from verdigris.execution.tools.junit_tool import junit_tool
from verdigris.execution.tools.lookup import program
from verdigris.runners.junit import JUnitRunner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from verdigris.core.settings import Stack

_LOCAL = {"mvn": "./mvnw", "gradle": "./gradlew", "phpunit": "vendor/bin/phpunit", "rspec": "bin/rspec"}
"""Programs that a project may have of its own."""
_OF_JUNIT = (".m2", ".gradle", ".ivy2", ".sbt", ".cache/coursier", ".composer", ".bundle", ".gem", ".nuget")
"""Below the user's home: what such tools read, and insist on writing to."""


def junit(stack: Stack, home: Path, environ: Mapping[str, str]) -> Toolset:
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
