"""Calls pytest or unittest in the user's interpreter, so that it reports over a channel."""

from __future__ import annotations

import json
import posixpath
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.test_ids import split_id
from verdigris.core.value import value
from verdigris.runners.protocol import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.languages.python.probes import Runs


BOOTSTRAP = Path(__file__).parent / "reporter" / "verdigris_bootstrap.py"
CHANNEL = "VERDIGRIS_CHANNEL"


@value
class PythonTool:
    name: str
    """As `python -m` takes it."""
    argv: tuple[str, ...]
    """What tells the bootstrap to start it."""
    arguments: Callable[[Asked], tuple[str, ...]]


@value
class Asked:
    """What the arguments of one run depend on."""

    paths: tuple[str, ...]
    """The files and folders of the selection, from the stack's root; the reporter picks the tests in them,
    whatever their names hold."""
    extra: tuple[str, ...]
    collect_only: bool
    cache_dir: str | None


def invocation(
    tool: PythonTool,
    interpreter: str,
    selection: Sequence[str],
    *,
    worktree: str,
    stack_root: str,
    nonce: str,
    extra: Sequence[str] = (),
    trace: Sequence[str] = (),
    collect_only: bool = False,
    cache_dir: str | None = None,
    runs: Runs | None = None,
    disposable: bool = False,
    private: Sequence[str] = (),
    sources: Sequence[str] | None = None,
    learn: bool = False,
    withheld: Sequence[str] = (),
    limit: float | None = None,
) -> Invocation:
    """Ids and paths are relative to the worktree, `stack_root` too; no selection means all.

    `cache_dir` is an empty folder for one run: pytest's own cache would let `--lf` in a
    configuration choose what runs, and would be left in the user's tree.
    `runs`: instead of one run a set of them, each in a process that has loaded nothing of the project; their
    texts are written into the tree, which must be `disposable`. What is traced is traced in one more run.
    What a run leaves behind is taken away, also in folders that are `private` to these runs.
    `sources`, for a verdict: the folders from which the project's modules are imported. No cached bytecode of
    the project is used then, and the report tells where modules were loaded from.
    `learn`: the report tells what was loaded of the environment, for a process that loads it beforehand.
    `withheld`: files of a `disposable` tree that code of the project is not to read: emptied before any of it
    is loaded.
    `limit`: seconds after which a test that has not ended is stopped, and fails where it is.
    """
    paths = _paths(selection, stack_root)
    arguments = tool.arguments(Asked(paths, tuple(extra), collect_only, cache_dir))
    settings: dict[str, object] = {
        "nonce": nonce,
        "argv": arguments,
        "worktree": worktree,
        "select": list(selection),
        "trace": list(trace),
    }
    if sources is not None:
        settings |= {"fresh": True, "sources": list(sources)}
    if limit is not None:
        settings["limit"] = limit
    if learn:
        settings["learn"] = True
    if withheld and disposable:
        settings["withheld"] = list(withheld)
    if runs is not None:
        settings["runs"] = {
            "seconds": runs.seconds,
            "each": runs.each,
            "bare": runs.bare,
            "preload": list(runs.preload),
            "watched": list(runs.watched or selection),
            "disposable": disposable,
            "private": list(private),
        }
    texts = b"" if runs is None else json.dumps([dict(files) for files in runs.texts]).encode("ascii")
    return Invocation(
        argv=(interpreter, str(BOOTSTRAP), *tool.argv),
        arguments=arguments,
        cwd=posixpath.normpath(posixpath.join(worktree, stack_root)),
        channel_env=CHANNEL,
        hello=greeting(settings) + texts,
        nonce=nonce,
        command=shlex.join(
            ["python", "-m", tool.name, *extra, *(_within(entry, stack_root) for entry in selection)]
        ),
    )


def greeting(settings: dict[str, object]) -> bytes:
    """With its length first, as what follows is read by another hand."""
    told = json.dumps(settings).encode("ascii")
    return b"%08x" % len(told) + told


def _paths(selection: Sequence[str], stack_root: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_within(split_id(entry).path, stack_root) for entry in selection))


def _within(entry: str, stack_root: str) -> str:
    """From relative to the worktree to relative to the stack's root."""
    test = split_id(entry)
    path = posixpath.relpath(f"/{test.path}", posixpath.join("/", stack_root))
    return path + entry[len(test.path) :]


_PLUGIN = "verdigris_reporter.plugin"
_EVERY_RESULT = ("--maxfail=0", "--continue-on-collection-errors")
"""A verdict needs every result, whatever `-x` in the project's configuration says."""


def _pytest_arguments(asked: Asked) -> tuple[str, ...]:
    listed = ("--collect-only", "-q") if asked.collect_only else ()
    cache = () if asked.cache_dir is None else ("-o", f"cache_dir={asked.cache_dir}")
    paths = map(_findable, asked.paths)
    return ("-p", _PLUGIN, *asked.extra, *_EVERY_RESULT, *listed, *cache, *paths)


def _findable(path: str) -> str:
    """In an argument `[` and `::` begin the name of a test, and `@` names a file of arguments."""
    while "[" in path or "::" in path:
        path = posixpath.dirname(path) or "."
    return f"./{path}" if path.startswith(("-", "@")) else path


PYTEST = PythonTool("pytest", (), _pytest_arguments)
pytest_invocation = partial(invocation, PYTEST)


def _unittest_arguments(asked: Asked) -> tuple[str, ...]:
    """The user's options for `python -m unittest [discover]`, and behind `--` what is ours."""
    listed = ("--collect-only",) if asked.collect_only else ()
    return (*asked.extra, *listed, "--", *asked.paths)


UNITTEST = PythonTool("unittest", ("unittest",), _unittest_arguments)
unittest_invocation = partial(invocation, UNITTEST)
