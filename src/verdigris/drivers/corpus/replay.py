"""Replays triples in rooms: each test has to be red before the edit and green after it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from verdigris.core.errors import HarnessError, StorageError, ToolMissing, UserError, VerdigrisError
from verdigris.core.report import Status, TestReport
from verdigris.core.value import value
from verdigris.drivers.audit.red_runs import judge_reds
from verdigris.drivers.audit.tree_runs.folder import KnownSuites
from verdigris.drivers.audit.tree_runs.suite import TestRuns, open_runs
from verdigris.drivers.corpus.contents import TreeObjects, open_objects
from verdigris.drivers.corpus.export import MANIFEST, SCHEMA
from verdigris.drivers.corpus.formats import FORMATS
from verdigris.drivers.corpus.triple import Triple
from verdigris.storage.repository import find_repository

TIMEOUT = 600.0
_READABLE = "an export of triples, swebench or parquet"


class ReplayAnswer(StrEnum):
    HOLDS = "holds"
    FAILS = "fails"
    """It is not red before, or not green after, or its patches do not make its trees."""
    UNVERIFIED = "unverified"
    """It could not be judged because trees or a tool are missing; that blames nobody."""


@value
class ReplayedTriple:
    id: str
    answer: ReplayAnswer
    why: str


@value
class ReplayRequest:
    folder: Path
    """The folder of the corpus."""
    ids: tuple[str, ...] = ()
    """Only these triples; all if none is named."""
    seconds: float = TIMEOUT
    """For one triple."""


def verify_corpus(start: Path, request: ReplayRequest) -> Iterator[ReplayedTriple]:
    triples = list(read_triples(request.folder))
    ids = {triple.id for triple in triples}
    if unknown := [name for name in request.ids if name not in ids]:
        raise UserError(f"the corpus has no triple {unknown[0]}.", hint="its lines and rows name their ids")
    wanted = [triple for triple in triples if not request.ids or triple.id in request.ids]
    with open_objects(find_repository(start)) as objects:
        for triple in sorted(wanted, key=lambda t: t.id):
            yield replay_triple(objects, triple, request.seconds)


def read_triples(folder: Path) -> Iterator[Triple]:
    """Reads the triples of a corpus, if its format has any."""
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise UserError(f"{folder} holds no corpus.", hint=f"name the folder of {_READABLE}")
    name = manifest.get("format")
    read = FORMATS[name].read if name in FORMATS else None
    if read is None:
        raise UserError(f"a corpus of {name} holds conversations, not triples.", hint=f"verify {_READABLE}")
    return read(folder)


def replay_triple(objects: TreeObjects, triple: Triple, seconds: float) -> ReplayedTriple:
    try:
        if fault := _patch_fault(objects, triple):
            return ReplayedTriple(triple.id, ReplayAnswer.FAILS, fault)
        missing = [tree for tree in (triple.red_tree, triple.green_tree) if not objects.has_all(tree)]
        if missing:
            why = f"this repository has not the tree {missing[0]}, and no patch here makes it"
            return ReplayedTriple(triple.id, ReplayAnswer.UNVERIFIED, why)
        runs = open_runs(objects.project, KnownSuites(objects.folder), triple.green_tree, seconds)
        if fault := _red_fault(runs, triple) or _green_fault(runs, triple):
            return ReplayedTriple(triple.id, ReplayAnswer.FAILS, fault)
    except (ToolMissing, StorageError, HarnessError):
        raise
    except VerdigrisError as error:
        return ReplayedTriple(triple.id, ReplayAnswer.UNVERIFIED, error.message)
    summary = f"{len(triple.reds)} red before and green after"
    beside = f", {len(triple.passing)} more pass" if triple.passing else ""
    return ReplayedTriple(triple.id, ReplayAnswer.HOLDS, f"{summary}{beside}")


def _patch_fault(objects: TreeObjects, triple: Triple) -> str:
    """Returns which patch does not make the next tree. Scrubbed texts are not checked."""
    if triple.scrubbed:
        return ""
    if triple.test_patch or triple.patch:
        steps = (
            (triple.base_tree, triple.test_patch, triple.red_tree, "test patch"),
            (triple.red_tree, triple.patch, triple.green_tree, "patch"),
        )
        for before, patch, after, what in steps:
            if objects.has_all(before) and objects.apply(before, patch) != after:
                return f"its {what} does not lead from the tree {before} to {after}"
    against, commit_tree = triple.against_commit, objects.tree_of(triple.base_commit)
    if against is None or commit_tree is None:
        return ""
    applied = objects.apply(commit_tree, against.tests, against.source)
    return "" if applied == triple.green_tree else "its patches against the commit do not make its green tree"


def _red_fault(runs: TestRuns, triple: Triple) -> str:
    names = [red.native for red in triple.reds]
    report = runs.run(triple.red_tree, names)
    judged = judge_reds(runs.at(triple.red_tree), report, triple.red_tree, names)
    reds = {red.id: red for red in judged.values()}
    for red in triple.reds:
        result = reds.get(red.id) or reds.get(red.native)
        if result is None:
            return f"{red.native} is not red before the edit"
        if not result.valid:
            reason = f"{result.why} {result.message}"
            return f"{red.native} is red for another reason before the edit: {reason}".strip()
    return ""


def _green_fault(runs: TestRuns, triple: Triple) -> str:
    names = [red.native for red in triple.reds]
    tree = triple.green_tree
    report = runs.suite(tree).report if triple.passing else runs.run(tree, names)
    failing = [name for name in (*names, *triple.passing) if not _passes(report, name)]
    return f"{failing[0]} does not pass after the edit" if failing else ""


def _passes(report: TestReport, native: str) -> bool:
    return any(r.status is Status.PASS for r in report.results if r.native_id == native)


def summarise(replayed: Sequence[ReplayedTriple]) -> dict[str, int]:
    return {str(answer): sum(replay.answer is answer for replay in replayed) for answer in ReplayAnswer}
