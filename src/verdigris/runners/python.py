"""Calls pytest or unittest in the user's interpreter, so that it reports over a channel."""

from __future__ import annotations

import json
import posixpath
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.runners.protocol import ReportChannel, RunnerCall
from verdigris.runners.pytest_report import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from verdigris.core.report import TestReport
    from verdigris.runners.protocol import RunnerAnswer, TestRequest


BOOTSTRAP = Path(__file__).parent / "reporter" / "verdigris_bootstrap.py"
CHANNEL = "VERDIGRIS_CHANNEL"


@value
class PythonTool:
    name: str
    """As `python -m` takes it."""
    argv: tuple[str, ...]
    """What tells the bootstrap to start it."""
    arguments: Callable[[TestRequest], tuple[str, ...]]


@value
class PythonRunner:
    """A tool in the user's interpreter: our reporter, which is loaded beside it, writes on the channel.

    The report folder is its cache: pytest's own would let `--lf` in a configuration choose what runs, and
    would be left in the user's tree. What a run leaves behind is taken away, also in the private folders.
    """

    tool: PythonTool
    interpreter: str

    def commands(self, request: TestRequest) -> tuple[RunnerCall, ...]:
        selection = (_within(name, request.stack_root) for name in request.names)
        arguments = self.tool.arguments(request)
        channel = ReportChannel(CHANNEL, _hello(request, arguments), request.nonce, arguments)
        return (
            RunnerCall(
                argv=(self.interpreter, str(BOOTSTRAP), *self.tool.argv),
                cwd=request.folder,
                command=shlex.join(["python", "-m", self.tool.name, *request.extra, *selection]),
                channel=channel,
            ),
        )

    def report(self, request: TestRequest, answers: tuple[RunnerAnswer, ...]) -> TestReport:  # noqa: ARG002 - the reporter picks the tests
        [answer] = answers
        return parse(answer)


def _hello(request: TestRequest, arguments: tuple[str, ...]) -> bytes:
    """What the reporter is to do; behind it the texts of the runs, which only their parent reads."""
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
    if request.uses:
        settings["uses"] = True
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
        "preload": list(runs.preload),
        "watched": list(runs.watched or request.names),
        "disposable": request.private is not None,
        "private": list(request.private or ()),
    }
    return greeting(settings) + json.dumps([dict(files) for files in runs.texts]).encode("ascii")


def greeting(settings: dict[str, object]) -> bytes:
    """Writes its length first, as what follows is read by another hand."""
    told = json.dumps(settings).encode("ascii")
    return b"%08x" % len(told) + told


def _paths(request: TestRequest) -> tuple[str, ...]:
    """The files and folders that are named, from the stack's root; the reporter picks the tests in them,
    whatever their names hold.
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
    """In an argument `[` and `::` begin the name of a test, and `@` names a file of arguments."""
    while "[" in path or "::" in path:
        path = posixpath.dirname(path) or "."
    return f"./{path}" if path.startswith(("-", "@")) else path


PYTEST = PythonTool("pytest", (), _pytest_arguments)


def _unittest_arguments(request: TestRequest) -> tuple[str, ...]:
    """The user's options for `python -m unittest [discover]`, and behind `--` what is ours."""
    listed = ("--collect-only",) if request.collect_only else ()
    return (*request.extra, *listed, "--", *_paths(request))


UNITTEST = PythonTool("unittest", ("unittest",), _unittest_arguments)
PYTHON_TOOLS = {tool.name: tool for tool in (PYTEST, UNITTEST)}
