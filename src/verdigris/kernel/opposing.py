"""Whether assertions are live where a grammar reads the tests: changed ones are run, and each must fail."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field, replace
from string import ascii_lowercase
from typing import TYPE_CHECKING

from verdigris.core.languages import GO, NODE
from verdigris.core.liveness import Liveness
from verdigris.core.report import Ended, Status
from verdigris.core.testids import split_id
from verdigris.kernel.calling import call
from verdigris.kernel.reading import is_read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdigris.core.report import TestReport
    from verdigris.core.settings import Stack
    from verdigris.kernel.grammar.probing import Probe
    from verdigris.kernel.project import Project
    from verdigris.kernel.room.layers import Layer

_WAVES = {NODE: 6}
_COMPILED_WAVES = 3
"""How many assertions of one test are tried, each in a run of its own: what is compiled takes longer."""
_UNREAD = "no assertion that surely runs and can be changed was found in it"
_FORGED = frozenset({"Contradiction", "ReportedTwice"})


@dataclass(slots=True)
class _Found:
    hollow: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)
    """Tests of which a try came to its end."""
    away: dict[str, str] = field(default_factory=dict)
    """Tests that a try did not see the end of, and why."""


def oppose(project: Project, stack: Stack, tree: str, claimed: Sequence[str], room: Layer | None) -> Liveness:
    """`claimed`: native ids of one stack."""
    if room is None or not claimed:
        return Liveness((), ())
    from verdigris.kernel.grammar.probing import changed, probes, waves

    asked: dict[str, list[str]] = {}
    for native in claimed:
        asked.setdefault(split_id(native).path, []).append(native)
    read = project.workspace.read_many(tree, [path for path in asked if is_read(path)])
    texts = {path: data for path, data in read.items() if data is not None}
    more = "".join(secrets.choice(ascii_lowercase) for _ in range(3))
    known = [p for path, data in texts.items() for p in probes(path, data, _names(asked[path]), more)]
    found = _Found()
    reached = {f"{probe.path}::{name}" for probe in known for name in probe.names}
    found.unreached += (f"{native}: {_UNREAD}" for native in claimed if native not in reached)
    ends = time.monotonic() + project.settings.liveness_seconds
    modes = {entry.path: entry.mode for entry in project.workspace.files(tree) if entry.path in texts}
    for number, wave in enumerate(waves(known)):
        left = ends - time.monotonic()
        if number >= _WAVES.get(stack.language, _COMPILED_WAVES) or left <= 0:
            found.unreached += (f"{_at(probe)}: it was not tried" for probe in wave)
            continue
        contents = {path: (modes[path], data) for path, data in changed(texts, wave).items()}
        layer = replace(room, wanted=project.workspace.compose(tree, contents), worktree=tree)
        names = sorted({_asked(stack, probe.path) for probe in wave})
        _judge(found, wave, call(project, stack, names, layer=layer, timeout=left, sources=()))
    doubts = (f"{name}: no try of its assertions came to an end: {why}" for name, why in found.away.items())
    return Liveness(
        tuple(found.hollow),
        tuple(found.unreached),
        tuple(doubt for doubt, name in zip(doubts, found.away, strict=True) if name not in found.ended),
    )


def _judge(found: _Found, wave: Sequence[Probe], report: TestReport) -> None:
    results = {result.native_id: result for result in report.results}
    for probe in wave:
        for name in sorted(probe.names):
            native = f"{probe.path}::{name}"
            result = results.get(native)
            forged = result is not None and result.failure is not None and result.failure.kind in _FORGED
            if result is not None and result.status is Status.PASS:
                found.hollow.append(f"{_at(probe)}: changed, and {native} passes all the same")
            elif result is not None and result.status is Status.FAIL:
                found.ended.add(native)
            elif forged or report.ended in {Ended.EARLY_EXIT, Ended.DIED}:
                found.away[native] = "the run ended early"
            else:
                found.unreached.append(f"{_at(probe)}: {_why(report)}")


def _asked(stack: Stack, path: str) -> str:
    """As when the suite is run: code could tell by the arguments that single tests were named."""
    return path.rpartition("/")[0] or "." if stack.language == GO else path


def _why(report: TestReport) -> str:
    if report.errors:
        return f"what it was changed to does not build: {report.errors[0].message.splitlines()[0][:120]}"
    return "the test did not run to its end"


def _at(probe: Probe) -> str:
    return f"{probe.path}:{probe.line}: `{probe.what}`"


def _names(natives: Sequence[str]) -> list[str]:
    """Without their file."""
    return [native[len(split_id(native).path) + 2 :] for native in natives]
