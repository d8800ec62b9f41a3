"""How a tool of the user's interpreter is called, so that it speaks over the channel."""

from __future__ import annotations

import json
import posixpath
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.testids import split_id
from verdigris.core.value import value
from verdigris.runners.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verdigris.core.liveness import Variant

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
    variants: Sequence[Variant] = (),
    variant_seconds: float = 60,
    disposable: bool = False,
    sources: Sequence[str] | None = None,
    learn: bool = False,
) -> Invocation:
    """Ids and paths are relative to the worktree, `stack_root` too; no selection means all.

    `cache_dir` is an empty folder for one run: pytest's own cache would let `--lf` in a
    configuration choose what runs, and would be left in the user's tree.
    `variants` are tried after the run, each in a process that has loaded nothing of the project; their texts
    are written into the tree, which must be `disposable`.
    `sources`, for a verdict: the folders from which the project's modules are imported. No cached bytecode of
    the project is used then, and the report tells where modules were loaded from.
    `learn`: the report tells what was loaded of the environment, for a process that loads it beforehand.
    """

    def asked(names: Sequence[str], cache: str | None) -> tuple[str, ...]:
        return tool.arguments(Asked(_paths(names, stack_root), tuple(extra), collect_only, cache))

    arguments = asked(selection, cache_dir)
    settings: dict[str, object] = {
        "nonce": nonce,
        "argv": arguments,
        "worktree": worktree,
        "select": list(selection),
        "trace": list(trace),
    }
    if sources is not None:
        settings |= {"fresh": True, "sources": list(sources)}
    if learn:
        settings["learn"] = True
    if variants:
        caches = (cache_dir and f"{cache_dir}/{number}" for number in range(len(variants)))
        tries = [_tried(v, asked(v.select, cache)) for v, cache in zip(variants, caches, strict=True)]
        settings |= {"variants": tries, "variant_seconds": variant_seconds, "disposable": disposable}
    return Invocation(
        argv=(interpreter, str(BOOTSTRAP), *tool.argv),
        arguments=arguments,
        cwd=posixpath.normpath(posixpath.join(worktree, stack_root)),
        channel_env=CHANNEL,
        hello=json.dumps(settings).encode("ascii"),
        nonce=nonce,
        command=shlex.join(
            ["python", "-m", tool.name, *extra, *(_within(entry, stack_root) for entry in selection)]
        ),
    )


def _tried(variant: Variant, argv: tuple[str, ...]) -> dict[str, object]:
    at: dict[str, list[tuple[str, int, int]]] = {}
    for probe in variant.probes:
        for name in probe.functions:
            at.setdefault(name, []).append((probe.path, *probe.lines))
    return {"files": dict(variant.texts), "select": variant.select, "at": at, "argv": argv}


def _paths(selection: Sequence[str], stack_root: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_within(split_id(entry).path, stack_root) for entry in selection))


def _within(entry: str, stack_root: str) -> str:
    """From relative to the worktree to relative to the stack's root."""
    test = split_id(entry)
    path = posixpath.relpath(f"/{test.path}", posixpath.join("/", stack_root))
    return path + entry[len(test.path) :]
