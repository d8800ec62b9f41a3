"""How pytest is called, so that it behaves as `python -m pytest` and speaks over the channel."""

from __future__ import annotations

import json
import posixpath
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.testids import split_id
from verdigris.runners.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.liveness import Variant

BOOTSTRAP = Path(__file__).parent / "reporter" / "verdigris_bootstrap.py"
CHANNEL = "VERDIGRIS_CHANNEL"
_PLUGIN = "verdigris_reporter.plugin"
_EVERY_RESULT = ("--maxfail=0", "--continue-on-collection-errors")
"""A verdict needs every result, whatever `-x` in the project's configuration says."""


def invocation(
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
    variants: Sequence[Variant] = (),
    variant_seconds: float = 60,
    disposable: bool = False,
    sources: Sequence[str] | None = None,
) -> Invocation:
    """Ids and paths are relative to the worktree, `stack_root` too; no selection means all.

    `cache_dir` is an empty folder for one run: pytest's own cache would let `--lf` in a
    configuration choose what runs, and would be left in the user's tree.
    `variants` are tried after the run, each in a process that has loaded nothing of the project; their texts
    are written into the tree, which must be `disposable`.
    `sources`, for a verdict: the folders from which the project's modules are imported. No cached bytecode of
    the project is used then, and the report tells where modules were loaded from.
    """
    options = [*extra, *_EVERY_RESULT]
    if collect_only:
        options += ["--collect-only", "-q"]
    arguments = _argv(options, cache_dir, selection, stack_root)
    settings: dict[str, object] = {
        "nonce": nonce,
        "argv": arguments,
        "worktree": worktree,
        "select": list(selection),
        "trace": list(trace),
    }
    if sources is not None:
        settings |= {"fresh": True, "sources": list(sources)}
    if variants:
        caches = (cache_dir and f"{cache_dir}/{number}" for number in range(len(variants)))
        tries = [_tried(v, options, cache, stack_root) for v, cache in zip(variants, caches, strict=True)]
        settings |= {"variants": tries, "variant_seconds": variant_seconds, "disposable": disposable}
    return Invocation(
        argv=(interpreter, str(BOOTSTRAP)),
        arguments=arguments,
        cwd=posixpath.normpath(posixpath.join(worktree, stack_root)),
        channel_env=CHANNEL,
        hello=json.dumps(settings).encode("ascii"),
        nonce=nonce,
        command=shlex.join(
            ["python", "-m", "pytest", *extra, *(_within(entry, stack_root) for entry in selection)]
        ),
    )


def _tried(
    variant: Variant, options: Sequence[str], cache_dir: str | None, stack_root: str
) -> dict[str, object]:
    argv = _argv(options, cache_dir, variant.select, stack_root)
    at: dict[str, list[tuple[str, int, int]]] = {}
    for probe in variant.probes:
        for name in probe.functions:
            at.setdefault(name, []).append((probe.path, *probe.lines))
    return {"files": dict(variant.texts), "select": variant.select, "at": at, "argv": argv}


def _argv(
    options: Sequence[str], cache_dir: str | None, selection: Sequence[str], stack_root: str
) -> tuple[str, ...]:
    cache = () if cache_dir is None else ("-o", f"cache_dir={cache_dir}")
    return ("-p", _PLUGIN, *options, *cache, *_arguments(selection, stack_root))


def _arguments(selection: Sequence[str], stack_root: str) -> list[str]:
    """The files of the selection; the reporter picks the tests in them, whatever their names hold."""
    paths = dict.fromkeys(_within(split_id(entry).path, stack_root) for entry in selection)
    return [_findable(path) for path in paths]


def _within(entry: str, stack_root: str) -> str:
    """From relative to the worktree to relative to the stack's root."""
    test = split_id(entry)
    path = posixpath.relpath(f"/{test.path}", posixpath.join("/", stack_root))
    return path + entry[len(test.path) :]


def _findable(path: str) -> str:
    """In an argument `[` and `::` begin the name of a test, and `@` names a file of arguments."""
    while "[" in path or "::" in path:
        path = posixpath.dirname(path) or "."
    return f"./{path}" if path.startswith(("-", "@")) else path
