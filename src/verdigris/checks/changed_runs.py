"""Runs tests while some files have other texts; the worktree stays as it is.

Where runs are traced, all of them are forked from one process. Elsewhere each is a run of its own.
"""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING

from verdigris.core.paths import FILE
from verdigris.core.value import replace, value
from verdigris.execution.room import Layer
from verdigris.execution.test_run import run_request
from verdigris.runners.protocol import RequestedRuns, TestRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verdigris.core.report import TestReport, VariantOutcome
    from verdigris.core.settings import Stack
    from verdigris.storage.project import Project


@value
class ChangedTree:
    """Where the texts are changed."""

    project: Project
    tree: str
    """Of the worktree."""
    room: Layer | None
    """The layer to run on, whose tree may be another one; None: no sandbox can be made."""

    def layer_with(self, texts: Mapping[str, bytes]) -> Layer:
        base = self.room or Layer(self.tree, self.tree)
        workspace = self.project.workspace
        modes = {path: entry.mode for path, entry in workspace.entries(base.wanted, texts.keys()).items()}
        contents = {path: (modes.get(path, FILE), data) for path, data in texts.items()}
        return replace(base, wanted=workspace.compose(base.wanted, contents), worktree=self.tree)


@value
class ForkedRuns:
    """A set of runs, and how it is made."""

    texts: Sequence[Mapping[str, bytes]]
    """For each run, the files that it has otherwise."""
    names: Sequence[Sequence[str]]
    """For each run, the ids of its tests."""
    seconds: float
    each: float
    until_failure: bool = False
    trace: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    """Files that keep their text, and in which a failure is placed too."""


@value
class ForkedEnds:
    runs: tuple[VariantOutcome | None, ...]
    """In the order that was asked for; None where a run has no answer."""
    report: TestReport


def run_forked(at: ChangedTree, stack: Stack, asked: ForkedRuns) -> ForkedEnds:
    """Makes the runs in an order that none of them can tell."""
    paths = dict.fromkeys(path for texts in asked.texts for path in texts)
    base = at.tree if at.room is None else at.room.wanted
    read = at.project.workspace.read_many(base, [*paths, *asked.besides])
    plain = {path: data for path, data in read.items() if data is not None}
    order = SystemRandom().sample(range(len(asked.texts)), len(asked.texts))
    runs = RequestedRuns(
        tuple(_decode({**plain, **asked.texts[number]}) for number in order),
        seconds=asked.seconds,
        each=asked.each,
        until_failure=asked.until_failure,
        preload=asked.preload,
        names=tuple(tuple(asked.names[number]) for number in order),
    )
    request = TestRequest(
        tuple(dict.fromkeys(name for names in asked.names for name in names)),
        runs=runs,
        trace=asked.trace,
        sources=(),
        timeout=asked.seconds + at.project.settings.timeout,
    )
    report = run_request(at.project, stack, request, layer=at.room)
    ends = {order[outcome.index]: outcome for outcome in report.variants}
    return ForkedEnds(tuple(ends.get(number) for number in range(len(order))), report)


def _decode(texts: Mapping[str, bytes]) -> dict[str, str]:
    return {path: data.decode("utf-8", "surrogateescape") for path, data in texts.items()}
