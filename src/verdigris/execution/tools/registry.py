"""What the kernel needs of a test tool on this machine, and which tool belongs to a runner."""

# The defaults use few of their arguments:
# ruff: noqa: ARG002

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import ConfigError, HarnessError, ToolMissing, VerdigrisError
from verdigris.core.value import value
from verdigris.execution.process import Command, run
from verdigris.execution.tools.runs import Prepared, Ran, RunPlace
from verdigris.runners import reporter
from verdigris.runners.registry import BUILT_IN, kind_of
from verdigris.sandbox.child import confine_query
from verdigris.storage.repository import sandbox_note

if TYPE_CHECKING:
    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import FindTool, RunnerCall, RunnerKind, TestRequest, Toolset


Environ = Mapping[str, str]
Lent = tuple[tuple[str, str], ...]
Version = tuple[int, ...]
REPORTER = str(reporter.__file__)
"""A file in the folder of the programs that run inside the user's tools."""
OURS = (sys.executable, f"{sys.prefix}/.", f"{sys.base_prefix}/.", REPORTER)
"""Our own interpreter, and the wrappers that it runs around test binaries."""


@value
class BuildRequest:
    """What shall be compiled before the tests run."""

    place: RunPlace
    stack: Stack
    request: TestRequest
    spare: str
    """An empty folder that only this call uses."""


class TestTool:
    """One test tool on this machine. Each tool has a `find`; the other methods have defaults."""

    __test__ = False

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
        """Raises `ToolMissing` with the next move if something is missing.

        `lent`: packages that a run sees below the root although they lie elsewhere.
        """
        raise HarnessError(f"no tool is known for `runner: {stack.runner}`")

    def prepare(self, tools: Toolset, build: BuildRequest) -> Prepared:
        """Compiles the tests before their run, if that saves time."""
        return Prepared(build.place)

    def run_warm(self, call: RunnerCall, place: RunPlace, timeout: float, limit: float | None) -> Ran | None:
        """Runs the call in a tool that is loaded already; None if a cold run is needed."""
        return None

    def limited(self, call: RunnerCall, limit: float | None) -> RunnerCall:
        """The call, changed so that it ends if a test does not end within `limit` seconds."""
        return call

    def kept_paths(self, stack: Stack, root: Path) -> Iterable[str]:
        """Paths that the tool keeps between runs, from the root; runs on another tree must not find them."""
        return ()

    def foundation_files(self, tools: Toolset, root: Path) -> Iterable[str]:
        """Files besides the program that decide how tests end; not the project's own dependencies."""
        return ()

    def installation(self, stack: Stack, root: Path, package: str = "") -> str:
        """The command, given in the root, that installs a package, or else all that the project's tests need.

        Empty if the tool knows none.
        """
        return ""

    def check(self, stack: Stack, root: Path) -> Iterator[ToolCheck]:
        """Checks for `tdd doctor` that the tool is there, works and is new enough."""
        yield check_program(self.find, stack, root)[0]


@value
class FoundTool(TestTool):
    """The tool of a third party's runner that gives only a `find`."""

    find_it: FindTool

    def find(self, stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
        return self.find_it(stack, root, environ)


def tool_of(runner: str) -> TestTool:
    """The tool of a runner. Ours have one name: `runners/NAME/` and `execution/tools/NAME.py`."""
    if runner in BUILT_IN:
        tools: dict[str, TestTool] = import_module(f"verdigris.execution.tools.{BUILT_IN[runner]}").TOOLS
        return tools[runner]
    kind = kind_of(runner)
    if isinstance(kind.tool, TestTool):
        return kind.tool
    return TestTool() if kind.find is None else FoundTool(kind.find)


def find_tool(stack: Stack, root: Path, environ: Environ, lent: Lent = ()) -> Toolset:
    """Finds the tool of a stack; raises ToolMissing with the next move.

    Loads only the modules that it needs.
    """
    return tool_of(stack.runner).find(stack, root, environ, lent)


def tool_files(stack: Stack, root: Path, environ: Environ) -> frozenset[str]:
    """The files of the tool that decide how tests end; none if the tool is missing."""
    tool = tool_of(stack.runner)
    try:
        tools = tool.find(stack, root, environ)
    except (ConfigError, ToolMissing):
        return frozenset()
    programs = (path for path in tools.programs[:1] if os.access(path, os.X_OK))
    return frozenset((*programs, *tool.foundation_files(tools, root)))


def program(name: str, environ: Environ, hint: str, *, beside: Path | None = None) -> str:
    """Finds a program on PATH; if its name contains a `/`, in the folder `beside`."""
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
    """The path of a name in the stack, relative to the root."""
    return name if stack.root in {".", ""} else f"{stack.root}/{name}"


SECONDS = 30.0
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@value
class ToolCheck:
    """What `tdd doctor` says about a program or package."""

    name: str
    what: str
    fix: str = ""
    """The next move; empty if nothing is wrong."""


def version(text: str) -> Version:
    """The first version in a text; empty if there is none."""
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def write_version(found: Version) -> str:
    return ".".join(map(str, found))


def name_in(stack: Stack, name: str) -> str:
    return name if stack.root in {".", ""} else f"{name} of {stack.root}"


def check_program(find: FindTool, stack: Stack, root: Path) -> tuple[ToolCheck, Toolset | None, str]:
    """Returns the check, the tool that was found, and what its program said about its version."""
    kind = kind_of(stack.runner)
    try:
        tools = find(stack, root, os.environ)
        answer = _ask_version(kind, tools, stack, root)
    except VerdigrisError as error:
        return failed_check(name_in(stack, stack.runner), error), None, ""
    path = tools.programs[0]
    name = Path(path).name
    if version(answer) < kind.oldest_program:
        fix = f"install {name} {write_version(kind.oldest_program)} or newer"
        return ToolCheck(name_in(stack, name), f"{path}: {answer} is too old", fix), tools, answer
    return ToolCheck(name_in(stack, name), f"{path}, {answer}" if answer else path), tools, answer


def failed_check(name: str, error: VerdigrisError) -> ToolCheck:
    return ToolCheck(name, error.message, error.hint or "see `tdd doctor --json`")


def _ask_version(kind: RunnerKind, tools: Toolset, stack: Stack, root: Path) -> str:
    """The first line with a version in it; empty if there is none."""
    program = tools.programs[0]
    reads = [Path(one).parent for one in tools.programs]
    with confine_query(root, sandbox_note(root), reads=reads) as confine:
        argv, env = (program, kind.version_word), {**os.environ, **tools.env}
        done = run(Command(argv, root / stack.root, env, confine=confine), timeout=SECONDS)
    lines = _STYLE.sub("", done.output.decode("utf-8", "replace")).splitlines()
    if done.exit_code != 0:
        errors = [line for line in lines if line.startswith("error")] or lines[-1:] or ["it said nothing"]
        raise VerdigrisError(
            f"{program} does not run: {errors[0]}", hint="install it again, or another version"
        )
    return next((line.strip() for line in lines if version(line)), "")
