"""What the kernel asks of a test tool on this machine: find it, build its tests, run it warm, check it."""

# The defaults use few of their arguments:
# ruff: noqa: ARG002

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.value import value
from verdigris.execution.tools.runs import Prepared
from verdigris.runners import reporter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from verdigris.core.settings import Stack
    from verdigris.execution.tools.runs import Ran, RunPlace
    from verdigris.execution.tools.versions import ToolCheck
    from verdigris.runners.protocol import FindTool, RunnerCall, TestRequest, Toolset

    Environ = Mapping[str, str]
    Lent = tuple[tuple[str, str], ...]

REPORTER = str(reporter.__file__)
"""Beside it lies what the tools are made to load."""
OURS = (sys.executable, f"{sys.prefix}/.", f"{sys.base_prefix}/.", REPORTER)
"""Our own interpreter, and what it runs around each test binary."""


@value
class Build:
    """What is to be compiled before the tests run."""

    place: RunPlace
    stack: Stack
    request: TestRequest
    spare: str
    """An empty folder of this call's own."""


class TestTool:
    """One test tool on this machine. Each tool has a `find`; the other methods have defaults."""

    __test__ = False

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
        """Raises `ToolMissing` with the next move if something is missing.

        `lent`: packages that a run finds below the root, though they lie elsewhere.
        """
        raise HarnessError(f"no tool is known for `runner: {stack.runner}`")

    def prepare(self, tools: Toolset, build: Build) -> Prepared:
        """Compiles the tests apart from their run, where that saves time."""
        return Prepared(build.place)

    def run_warm(self, call: RunnerCall, place: RunPlace, timeout: float, limit: float | None) -> Ran | None:
        """Runs the call in a tool that is loaded already; None if it did not, and a cold run is needed."""
        return None

    def limited(self, call: RunnerCall, limit: float | None) -> RunnerCall:
        """The call, so that it ends when a test does not end in `limit` seconds."""
        return call

    def kept_paths(self, stack: Stack, root: Path) -> Iterable[str]:
        """What the tool keeps of earlier runs, from the root; a run on another tree is not to find it."""
        return ()

    def foundation_files(self, tools: Toolset, root: Path) -> Iterable[str]:
        """Files besides the program that decide how tests end; not the project's own dependencies."""
        return ()

    def check(self, stack: Stack, root: Path) -> Iterator[ToolCheck]:
        """Checks for `tdd doctor` that the tool is there, works and is new enough."""
        from verdigris.execution.tools.versions import check_program

        yield check_program(self.find, stack, root)[0]


@value
class FoundTool(TestTool):
    """The tool of a third party's runner that only says how it is found."""

    find_it: FindTool

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
        return self.find_it(stack, root, environ)


def program(name: str, environ: Environ, hint: str, *, beside: Path | None = None) -> str:
    """On PATH; a name with a `/` in it is looked for in the folder `beside`."""
    if "/" in name:
        found = (beside or Path()) / name
        if os.access(found, os.X_OK) and found.is_file():
            return str(found)
    elif there := shutil.which(name, path=environ.get("PATH", os.defpath)):
        return str(Path(there).absolute())
    raise ToolMissing(f"{name} cannot be found", hint=hint)


def home_of(stack: Stack, root: Path) -> Path:
    return Path(os.path.normpath(root / stack.root))


def path_in(stack: Stack, name: str) -> str:
    """A path of the stack, from the root."""
    return name if stack.root in {".", ""} else f"{stack.root}/{name}"
