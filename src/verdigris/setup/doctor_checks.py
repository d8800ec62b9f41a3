"""The checks of `tdd doctor`: git, each stack's test tool, the sandbox, and the suite in the room."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from verdigris.core.confinement.needs import needs, write_keys
from verdigris.core.errors import VerdigrisError
from verdigris.core.report import RunEnd, differences, merge_reports, only, suite_of
from verdigris.core.value import replace, value
from verdigris.core.verdict import first_line
from verdigris.execution.interpreter import find_interpreter
from verdigris.execution.process import Command, run
from verdigris.execution.test_run import execute, run_request
from verdigris.execution.tools.call import find_tool
from verdigris.execution.tools.lookup import install_command
from verdigris.runners.protocol import TestRequest
from verdigris.runners.registry import is_in_interpreter, kind_of
from verdigris.sandbox import child
from verdigris.sandbox.child import confine_query, environment_of
from verdigris.setup.versions import fits, version
from verdigris.storage.git import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdigris.core.report import RoomDifference, TestReport
    from verdigris.core.settings import Stack
    from verdigris.runners.protocol import Progress, Toolset
    from verdigris.storage.project import Project


Level = Literal["ok", "warn", "fail"]


@value
class DoctorFinding:
    name: str
    level: Level
    what: str
    fix: str = ""
    """The way out; empty where nothing is wrong."""
    details: tuple[str, ...] = ()


def failure(name: str, what: str, fix: str | None) -> DoctorFinding:
    return DoctorFinding(name, "fail", what, fix or "see `tdd doctor --json`")


_SECONDS = 30.0
_ASK_PLUGINS = """
import json
from importlib.metadata import distributions
found = {e.name for d in distributions() for e in d.entry_points if e.group == "pytest11"}
print(json.dumps(sorted(found)))
"""


def installed_plugins(project: Project) -> frozenset[str] | None:
    """None where all of them are loaded anyway, or where it cannot be found out."""
    if project.settings.room_plugins is None:
        return None
    found: set[str] = set()
    for stack in project.settings.stacks:
        if not is_in_interpreter(stack.runner):
            continue
        home = project.root / stack.root
        try:
            python = find_interpreter(home, project.root, stack.python, os.environ)
            with confine_query(project.root, reads=environment_of(python.path)) as confine:
                asked = Command(
                    (str(python.path), "-c", _ASK_PLUGINS), home, dict(os.environ), confine=confine
                )
                done = run(asked, timeout=_SECONDS)
            found.update(json.loads(done.output.strip().splitlines()[-1]))
        except (VerdigrisError, ValueError, IndexError, TypeError):
            return None
    return frozenset(found)


MOST = 20
"""Tests that are listed."""
_LOOK = "`room: {env: […]}` gives variables, `room: {network: host}` servers that no test starts itself"


def check_room(project: Project, progress: Progress | None = None) -> DoctorFinding:
    """The run outside is not confined and has the caller's whole environment: a person's to ask for."""
    if project.actor.role != "person":
        return failure("room", "only a person may ask for a run outside the room", "tell a person")
    try:
        with project.exclusive():
            outside = _suite(project, progress, bare=True)
            inside = _run_unstable_again(project, outside, _suite(project, progress, bare=False))
    except VerdigrisError as error:
        return failure("room", f"the suite cannot be run: {error.message}", error.hint)
    return _judge_difference(project, outside, inside)


def _suite(project: Project, progress: Progress | None, *, bare: bool) -> TestReport:
    stacks = ((stack, suite_of(stack)) for stack in project.settings.stacks)
    return merge_reports(
        run_request(project, stack, TestRequest(suite.names, extra=suite.marks), progress=progress, bare=bare)
        for stack, suite in stacks
    )


def _run_unstable_again(project: Project, outside: TestReport, inside: TestReport) -> TestReport:
    """A test that ends differently is run once more: an unstable one is no fault of the room."""
    doubted = {difference.test_id for difference in differences(outside, inside)}
    names = tuple(result.native_id for result in inside.results if result.id in doubted)
    if not 0 < len(names) <= MOST:
        return inside
    again = {result.native_id: result for result in execute(project, TestRequest(names)).results}
    return replace(inside, results=tuple(again.get(result.native_id, result) for result in inside.results))


def _judge_difference(project: Project, outside: TestReport, inside: TestReport) -> DoctorFinding:
    if outside.ended is not RunEnd.FINISHED:
        what = f"the suite does not finish outside the room ({outside.ended})"
        return DoctorFinding("room", "warn", what, f"`{outside.command}` shows why", _last_lines(outside))
    differing = differences(outside, inside)
    if not differing and inside.ended is RunEnd.FINISHED:
        return DoctorFinding(
            "room", "ok", f"in the room as outside it: {_count_ends(len(outside.results))} the same"
        )
    lacking = needs(
        only(inside, differing), os.environ, project.settings, installed=installed_plugins(project)
    )
    keys = ", ".join(f"`{setting}`" for setting in write_keys(lacking))
    fix = (
        f"in tdd.yaml: {keys}" if keys else f"give the run what it lacks: {_LOOK} (`tdd help configuration`)"
    )
    if inside.ended is not RunEnd.FINISHED:
        what = f"the suite finishes outside the room, and not in it ({inside.ended})"
        return DoctorFinding("room", "warn", what, fix, _last_lines(inside))
    what = f"tests that end differently in the room: {len(differing)} of {len(outside.results)}"
    return DoctorFinding("room", "warn", what, fix, _list_differences(differing))


def _list_differences(differing: tuple[RoomDifference, ...]) -> tuple[str, ...]:
    lines = [
        f"{one.test_id}: {one.outside or 'not run'} outside, {one.inside or 'not run'} in the room"
        + (f" ({first_line(one.why)})" if one.why else "")
        for one in differing[:MOST]
    ]
    left = len(differing) - len(lines)
    return (*lines, *([f"… and {left} more"] if left else []))


def _last_lines(report: TestReport) -> tuple[str, ...]:
    return tuple(report.tail.strip().splitlines()[-MOST:])


def _count_ends(number: int) -> str:
    return "1 test ends" if number == 1 else f"{number} tests end"


_ALLOW = "allow unprivileged user namespaces (sysctl, AppArmor, the container's profile), or live with it"


def check_sandbox() -> DoctorFinding:
    found = child.available()
    if not found.ok:
        return DoctorFinding(
            "sandbox",
            "warn",
            f"no process can be confined here ({found.why}): tests run with your rights, and what they or an"
            " agent's commands write to protected paths is found and put back afterwards instead of being"
            " stopped; held-out tests can be read, `room.network` has no effect, and settlements cannot try"
            " whether assertions are live",
            _ALLOW,
        )
    if not found.network:
        return DoctorFinding(
            "sandbox",
            "warn",
            f"a confined process has no network of its own here ({found.why}): runs reach the machine's",
            f"{_ALLOW}; `room: {{network: host}}` says that it is meant",
        )
    if found.way == "plain":
        return DoctorFinding(
            "sandbox",
            "warn",
            "a process can be confined, but without a user namespace: as root it may look into other"
            " processes of root by ptrace and /proc",
            f"work as a plain user; {_ALLOW}",
        )
    return DoctorFinding(
        "sandbox", "ok", "what a run writes has no effect outside; mounts, ids and network of its own"
    )


OLDEST_GIT = (2, 34)
OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = (7,)
SECONDS = 30.0
_ASK_PYTEST = """
import json, sys
try:
    import pytest
    found = getattr(pytest, "__version__", "?")
except ImportError:
    found = None
print(json.dumps([list(sys.version_info[:3]), found]))
"""


def check_git(here: Path) -> DoctorFinding:
    try:
        done = run(Command((program(os.environ), "--version"), here, dict(os.environ)), timeout=SECONDS)
    except VerdigrisError as error:
        return failure("git", error.message, "install git 2.34 or newer, and have it on PATH")
    text = done.output.decode("utf-8", "replace").strip()
    if done.exit_code != 0 or version(text) < OLDEST_GIT:
        return failure("git", f"needs 2.34 or newer, found: {text}", "install a newer git")
    return DoctorFinding("git", "ok", text)


def check_stack(root: Path, stack: Stack) -> Iterator[DoctorFinding]:
    if not is_in_interpreter(stack.runner):
        yield from check_tool(root, stack)
        return
    name = "interpreter" if stack.root in {".", ""} else f"interpreter of {stack.root}"
    home = root / stack.root
    try:
        found = find_interpreter(home, root, stack.python, os.environ, None)
        with confine_query(root, reads=environment_of(found.path)) as confine:
            asked = Command((str(found.path), "-c", _ASK_PYTEST), home, dict(os.environ), confine=confine)
            done = run(asked, timeout=SECONDS)
    except VerdigrisError as error:
        yield failure(name, error.message, error.hint)
        return
    answer = _answer(done.output)
    if answer is None:
        yield failure(
            name, f"{found.path} does not run", "name one that does: `python:` of the stack in tdd.yaml"
        )
        return
    python, pytest = answer
    shown = f"{found.path} ({found.how}), Python {'.'.join(map(str, python))}"
    if python < OLDEST_PYTHON:
        yield failure(
            name, f"{shown}: too old", "use Python 3.8 or newer: `python:` of the stack in tdd.yaml"
        )
    else:
        yield DoctorFinding(name, "ok", shown)
    if kind_of(stack.runner).is_package:
        yield _pytest(name.replace("interpreter", "pytest"), str(found.path), pytest)


def _answer(output: bytes) -> tuple[tuple[int, ...], str | None] | None:
    """The last line: start-up files may print before it."""
    try:
        python, pytest = json.loads(output.strip().splitlines()[-1])
        return tuple(map(int, python)), pytest
    except (ValueError, IndexError, TypeError):
        return None


def _pytest(name: str, python: str, found: str | None) -> DoctorFinding:
    if found is None:
        return failure(name, f"{python} cannot import pytest", f"`{python} -m pip install pytest`")
    if version(found) < OLDEST_PYTEST:
        return failure(name, f"{found} is too old", f"`{python} -m pip install 'pytest>=7'`")
    return DoctorFinding(name, "ok", found)


TOOL_SECONDS = 30.0
OLDEST = {"node": (18,), "cargo": (1, 70), "go": (1, 21), "vitest": (2,), "jest": (29,)}
_ASKED = {"go": "version"}
"""How a program is asked for its version, where it is not `--version`."""
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def check_tool(root: Path, stack: Stack) -> Iterator[DoctorFinding]:
    """One finding for the program, and one for the package that it runs."""
    where = "" if stack.root in {".", ""} else f" of {stack.root}"
    try:
        tools = find_tool(stack, root, os.environ)
        name = Path(tools.programs[0]).name
        answer = _tool_answer(root, stack, tools)
    except VerdigrisError as error:
        yield failure(f"{stack.runner}{where}", error.message, error.hint)
        return
    yield _judge_tool(f"{name}{where}", name, tools.programs[0], answer)
    if tools.package:
        script = Path(tools.package)
        yield _package(f"{stack.runner}{where}", stack.runner, script, answer, root / stack.root, root)


def _tool_answer(root: Path, stack: Stack, tools: Toolset) -> str:
    """The first line that says a number; empty where the program does not run."""
    program = tools.programs[0]
    argv = (program, _ASKED.get(Path(program).name, "--version"))
    with confine_query(root, reads=[Path(one).parent for one in tools.programs]) as confine:
        asked = Command(argv, root / stack.root, {**os.environ, **tools.env}, confine=confine)
        done = run(asked, timeout=TOOL_SECONDS)
    lines = _STYLE.sub("", done.output.decode("utf-8", "replace")).splitlines()
    if done.exit_code != 0:
        errors = [line for line in lines if line.startswith("error")] or lines[-1:] or ["it said nothing"]
        raise VerdigrisError(
            f"{program} does not run: {errors[0]}", hint="install it again, or another version"
        )
    return next((line.strip() for line in lines if version(line)), "")


def _judge_tool(name: str, tool: str, path: str, answer: str) -> DoctorFinding:
    oldest = OLDEST.get(tool, ())
    if version(answer) < oldest:
        wanted = ".".join(map(str, oldest))
        return failure(name, f"{path}: {answer} is too old", f"install {tool} {wanted} or newer")
    return DoctorFinding(name, "ok", f"{path}, {answer}" if answer else path)


def _package(name: str, runner: str, script: Path, node: str, home: Path, root: Path) -> DoctorFinding:
    described = next(p for p in script.parents if p.parent.name == "node_modules") / "package.json"
    try:
        said = json.loads(described.read_bytes())
        found, wanted = str(said["version"]), str(said.get("engines", {}).get("node", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return failure(name, f"{described} cannot be read", f"`{install_command(home, root)}`")
    if version(found) < OLDEST[runner]:
        newest = ".".join(map(str, OLDEST[runner]))
        return failure(name, f"{found} is too old", f"install {runner} {newest} or newer")
    if not fits(version(node), wanted):
        return failure(name, f"{found} needs node {wanted}, and {node} is there", "install a newer Node.js")
    return DoctorFinding(name, "ok", found)
