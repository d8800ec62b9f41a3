"""pytest, unittest and Django's tests, run by the user's interpreter with our reporter: calls and reports."""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.runners.protocol import Harness, ReportChannel, RunnerCall, RunnerKind
from verdigris.runners.python.report import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verdigris.core.confinement.needs import RoomFacts
    from verdigris.core.report import TestReport
    from verdigris.runners.protocol import RunnerAnswer, TestRequest


BOOTSTRAP = Path(__file__).parents[1] / "reporter" / "verdigris_bootstrap.py"
CHANNEL = "VERDIGRIS_CHANNEL"


@value
class PythonTool:
    name: str
    typed: tuple[str, ...]
    """The words after `python` with which a person starts it."""
    argv: tuple[str, ...]
    """The arguments with which `verdigris_bootstrap.py` starts it."""
    arguments: Callable[[TestRequest], tuple[str, ...]]


@value
class PythonRunner:
    """A tool in the user's interpreter. Our reporter is loaded beside it and writes on the channel.

    The report folder is pytest's cache folder. With its usual one, `--lf` in a configuration would choose
    what runs, and the cache would be left in the user's tree.
    """

    tool: PythonTool
    interpreter: str

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        selection = (_within(name, request.stack_root) for name in request.names)
        arguments = self.tool.arguments(request)
        channel = ReportChannel(CHANNEL, _hello(request, arguments), request.nonce)
        return (
            RunnerCall(
                argv=(self.interpreter, str(BOOTSTRAP), *self.tool.argv),
                cwd=request.folder,
                command=shlex.join(["python", *self.tool.typed, *request.extra, *selection]),
                channel=channel,
            ),
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:  # noqa: ARG002 - the reporter has selected the tests
        [answer] = answers
        return parse(answer)


def _hello(request: TestRequest, arguments: tuple[str, ...]) -> bytes:
    """The reporter's settings, followed by the texts of a set of runs, which only their leader reads."""
    settings: dict[str, object] = {
        "nonce": request.nonce,
        "argv": arguments,
        "worktree": request.worktree,
        "select": list(request.names),
        "trace": list(request.trace),
    }
    if request.sources is not None:
        settings |= {"fresh": True, "sources": list(request.sources)}
    if request.limit is not None:
        settings["limit"] = request.limit
    if request.uses or request.trace:
        settings["uses"] = [] if request.uses else list(request.trace)
    if request.watch:
        settings["watch"] = {path: sorted(lines) for path, lines in request.watch.items()}
    if request.learn:
        settings["learn"] = True
    if request.withheld and request.private is not None:
        settings["withheld"] = list(request.withheld)
    runs = request.runs
    if runs is None:
        return greeting(settings)
    settings["runs"] = {
        "seconds": runs.seconds,
        "each": runs.each,
        "bare": runs.bare,
        "until_failure": runs.until_failure,
        "preload": list(runs.preload),
        "watched": list(request.names),
        "disposable": request.private is not None,
        "private": list(request.private or ()),
    }
    names = runs.names or (request.names,) * len(runs.texts)
    members = [[dict(files), list(select)] for files, select in zip(runs.texts, names, strict=True)]
    return greeting(settings) + json.dumps(members).encode("ascii")


def greeting(settings: dict[str, object]) -> bytes:
    """The settings with their length in front: another process reads what follows them."""
    message = json.dumps(settings).encode("ascii")
    return b"%08x" % len(message) + message


def _paths(request: TestRequest) -> tuple[str, ...]:
    """The files and folders that are asked for, relative to the stack.

    The reporter selects the tests in them, because test names may contain characters that pytest misreads.
    """
    paths = (_within(split_id(name).path, request.stack_root) for name in request.names)
    return tuple(dict.fromkeys(paths))


def _within(entry: str, stack_root: str) -> str:
    """Makes an entry that is relative to the worktree relative to the stack's root."""
    test = split_id(entry)
    path = posixpath.relpath(f"/{test.path}", posixpath.join("/", stack_root))
    return path + entry[len(test.path) :]


_PLUGIN = "verdigris_reporter.plugin"
_EVERY_RESULT = ("--maxfail=0", "--continue-on-collection-errors")
"""A verdict needs every result, whatever `-x` in the project's configuration says."""


def _pytest_arguments(request: TestRequest) -> tuple[str, ...]:
    listed = ("--collect-only", "-q") if request.collect_only else ()
    cache = ("-o", f"cache_dir={request.report_folder}") if request.report_folder else ()
    paths = map(_findable, _paths(request))
    return ("-p", _PLUGIN, *request.extra, *_EVERY_RESULT, *listed, *cache, *paths)


def _findable(path: str) -> str:
    """A path that pytest finds: in an argument `[`, `::` and `@` have a meaning of their own."""
    while "[" in path or "::" in path:
        path = posixpath.dirname(path) or "."
    return f"./{path}" if path.startswith(("-", "@")) else path


PYTEST = PythonTool("pytest", ("-m", "pytest"), (), _pytest_arguments)


def _unittest_arguments(request: TestRequest) -> tuple[str, ...]:
    """The user's options for `python -m unittest [discover]` or `manage.py test`, then `--` and ours."""
    listed = ("--collect-only",) if request.collect_only else ()
    return (*request.extra, *listed, "--", *_paths(request))


UNITTEST = PythonTool("unittest", ("-m", "unittest"), ("unittest",), _unittest_arguments)
DJANGO = PythonTool("django", ("manage.py", "test"), ("django",), _unittest_arguments)
PYTHON_TOOLS = {tool.name: tool for tool in (PYTEST, UNITTEST, DJANGO)}


_EXCEPTION = (
    r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Failed|Failure|Exit|Interrupt|Warning)|Failed)\b"
)
_PYTEST_LINE = r"^(FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - (.*))?$"
_UNITTEST_LINE = r"^(FAIL|ERROR): (\w+) \(([\w.]+)\)"


def read_pytest_log(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(_PYTEST_LINE, text, re.MULTILINE):
        kind = _kind(match[3] or "") or ("error" if match[1] == "ERROR" else "")
        if "::" in match[2] or match[2].endswith(".py"):
            yield match[2], kind


def _kind(message: str) -> str:
    message = message.strip()
    if message.startswith("assert"):
        return "AssertionError"
    match = re.match(_EXCEPTION, message)
    return match[1] if match else ""


def read_unittest_log(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(_UNITTEST_LINE, text, re.MULTILINE):
        name = match[3] if match[3].endswith(f".{match[2]}") else f"{match[3]}.{match[2]}"
        yield name, "AssertionError" if match[1] == "FAIL" else "error"


_PROVIDERS = {
    "pytest_mock": ("mocker", "class_mocker", "module_mocker", "session_mocker"),
    "pytest_cov": ("cov",),
    "xdist": ("n", "numprocesses", "dist", "worker_id"),
    "timeout": ("timeout",),
    "rerunfailures": ("reruns", "flaky"),
    "asyncio": ("asyncio", "event_loop"),
    "anyio": ("anyio",),
    "aiohttp": ("aiohttp",),
    "django": ("django", "ds", "db", "client", "admin_client", "live_server"),
    "benchmark": ("benchmark",),
    "hypothesispytest": ("hypothesis",),
    "randomly": ("randomly",),
    "syrupy": ("snapshot",),
    "faker": ("faker",),
    "freezer": ("freezer", "freeze_time"),
    "pytest_fakefs": ("fs",),
    "pytest_httpx": ("httpx",),
    "requests_mock": ("requests_mock",),
    "respx": ("respx",),
}
"""The name of a plugin for `-p`, with what it brings: fixtures, marks and options that start with these
words.
"""
_UNKNOWN = (
    r"^\('([^']+)', <\w*Request",
    r"fixture '([^']+)' not found",
    r"'([^']+)' not found in `markers`",
    r"Unknown config option: (\S+)",
)
_ARGUMENTS = r"unrecognized arguments: (.*)"
_ASYNC = "async def functions are not natively supported"


def find_plugin_needs(kind: str, text: str, facts: RoomFacts) -> Iterator[tuple[str, str]]:
    missing = _missing_plugins(kind, text)
    if missing is None:
        return
    if "PYTEST_PLUGINS" in facts.lost:
        yield "room.env", "PYTEST_PLUGINS"
    if "PYTEST_ADDOPTS" in facts.lost:
        yield "stacks[].test_command", facts.environ["PYTEST_ADDOPTS"]
    given = facts.settings.room_plugins
    if given is None:
        return
    for plugin in missing:
        if plugin not in given and (facts.installed is None or plugin in facts.installed):
            yield "room.plugins", plugin


def _missing_plugins(kind: str, text: str) -> tuple[str, ...] | None:
    """The missing plugins; empty if one is missing and unknown, None if none is missing."""
    names = [match.group(1) for pattern in _UNKNOWN for match in re.finditer(pattern, text)]
    for match in re.finditer(_ARGUMENTS, text):
        names += [word.strip("-").partition("=")[0] for word in match.group(1).split() if word[0] == "-"]
    if _ASYNC in text:
        names.append("asyncio")
    if not names and kind != "FixtureLookupError":
        return None
    providers = (_provider(name.replace("-", "_").lower()) for name in names)
    return tuple(dict.fromkeys(plugin for plugin in providers if plugin))


def _provider(name: str) -> str | None:
    for plugin, words in _PROVIDERS.items():
        if name in words or name.partition("_")[0] in words:
            return plugin
    return None


_HARNESS = Harness(
    "parse_log_pytest",
    lambda native: native,
    lambda files: f"python -m pytest -rA {shlex.join(files)}",
    "python:3",
    (
        "python -m pip install pytest",
        "if [ -f requirements.txt ]; then python -m pip install -r requirements.txt; fi",
        "if [ -f pyproject.toml ] || [ -f setup.py ]; then python -m pip install -e .; fi",
    ),
)
KINDS = (
    RunnerKind(
        "pytest",
        in_interpreter=True,
        has_marks=True,
        takes="it takes test_*.py and *_test.py, or what `python_files` in its configuration names",
        package="pytest",
        oldest=(7,),
        oldest_program=(3, 8),
        read_log=read_pytest_log,
        find_needs=find_plugin_needs,
        refusals=(
            r"unrecognized arguments|[Uu]nknown config option|Missing required plugins|"
            r"No module named '?pytest"
        ),
        harness=_HARNESS,
    ),
    RunnerKind(
        "unittest",
        in_interpreter=True,
        takes="it takes test*.py in packages; `runner: pytest` in tdd.yaml takes *_test.py too",
        oldest_program=(3, 8),
        read_log=read_unittest_log,
    ),
    RunnerKind(
        "django",
        in_interpreter=True,
        takes="it takes test*.py in packages, as `manage.py test` does",
        package="django",
        oldest=(3, 2),
        oldest_program=(3, 8),
        read_log=read_unittest_log,
    ),
)
