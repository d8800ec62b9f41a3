"""Finds triples in reports of `tdd audit --json`: changes that were test-driven, read from git's objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError, VerdigrisError
from verdigris.core.paths import classify
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace
from verdigris.drivers.audit.configuration import configure
from verdigris.drivers.audit.red_runs import lay_tests
from verdigris.drivers.audit.report import AuditOutcome, parse_report
from verdigris.drivers.corpus.contents import ORACLE, CorpusContents, NoTripleMade, patches_against
from verdigris.drivers.corpus.triple import (
    Author,
    LeftOut,
    RedProof,
    Triple,
    describe_task,
    task_of_tests,
    triple_id,
)
from verdigris.execution.test_selection import stack_of
from verdigris.languages.registry import holds_tests

if TYPE_CHECKING:
    from pathlib import Path

    from verdigris.drivers.audit.configuration import UnitConfiguration
    from verdigris.drivers.audit.report import AuditReport, RedTest, UnitReport
    from verdigris.drivers.corpus.contents import RepositoryName
    from verdigris.drivers.corpus.tree_objects import TreeObjects


def read_audit(path: Path, objects: TreeObjects, named: RepositoryName) -> CorpusContents:
    """What is not test-driven is no triple, and nobody misses it; what cannot be read any more is named."""
    report = _read_report(path)
    triples: list[Triple] = []
    left_out: list[LeftOut] = []
    for unit in report.units:
        if unit.outcome is not AuditOutcome.TEST_DRIVEN:
            continue
        try:
            triples.append(_make_triple(report, unit, objects, named))
        except (VerdigrisError, NoTripleMade) as error:
            left_out.append(LeftOut(f"audit:{unit.commit.id}", str(error)))
    return CorpusContents(tuple(triples), left_out=tuple(left_out))


def _read_report(path: Path) -> AuditReport:
    try:
        return parse_report(json.loads(path.read_bytes()))
    except OSError as error:
        raise UserError(f"the audit {path} cannot be read: {error.strerror}.", hint="name its file") from None
    except ValueError as error:
        raise UserError(
            f"the audit {path} is no JSON: {error}.", hint="make it with `tdd audit RANGE --json`"
        ) from None
    except UserError as error:
        raise UserError(f"{path}: {error.message}", hint=error.hint) from None


def _make_triple(
    report: AuditReport, unit: UnitReport, objects: TreeObjects, named: RepositoryName
) -> Triple:
    for tree in (unit.before, unit.after):
        if not objects.has_all(tree):
            raise NoTripleMade(f"this repository has not the tree {tree}, or not all of it")
    found = configure(objects.folder, objects.project.workspace, objects.project.root, unit.after)
    valid = [red for red in unit.reds if red.valid]
    reds = tuple(map(_proof, valid))
    red_tree = _red_tree(objects, found, unit, valid)
    natives = [red.native for red in reds]
    commit = report.base if report.squash else next(iter(unit.commit.parents), "")
    commit = commit if objects.tree_of(commit) == unit.before else ""
    stack = stack_of(found.settings.stacks, split_id(natives[0]).path)
    return Triple(
        id=triple_id(named.name, red_tree, unit.after, natives),
        task=task_of_tests(named.name, natives),
        repository=named.name,
        origin=f"audit:{unit.commit.id}",
        statement="\n\n".join(filter(None, (unit.commit.title, describe_task(reds)))),
        base_commit=commit,
        base_tree=unit.before,
        red_tree=red_tree,
        green_tree=unit.after,
        reds=reds,
        passing=(),
        test_patch=objects.patch(unit.before, red_tree),
        patch=objects.patch(red_tree, unit.after),
        against_commit=patches_against(objects, found.classes, unit.before, unit.after) if commit else None,
        verdict=str(unit.outcome),
        liveness=_liveness(report, unit),
        weakening=tuple(f"{lost.path}:{lost.line}: {lost.kind}" for lost in unit.weakened),
        concerns=tuple(f"{one.path}:{one.line}: {one.kind}: {one.what}" for one in unit.concerns),
        environment=unit.environment,
        language=stack.language,
        runner=stack.runner,
        author=Author("", "git"),
        created=unit.commit.date,
        remote=named.remote,
    )


def _red_tree(objects: TreeObjects, found: UnitConfiguration, unit: UnitReport, reds: list[RedTest]) -> str:
    """The tests of after over the source of before, with the stubs that the audit made for them."""
    project = replace(objects.project, settings=found.settings, configured=found.classes)
    changed = [change.path for change in objects.changes(unit.before, unit.after)]
    tests = [
        path
        for path in changed
        if classify(path, found.classes) in ORACLE or holds_tests(path, classify(path, found.classes))
    ]
    laid = lay_tests(project, unit.before, unit.after, tests)
    stubbed = objects.apply(laid, *dict.fromkeys(red.stub for red in reds if red.stub))
    if stubbed is None:
        raise StorageError(f"the stubs of {unit.commit.id} do not apply", hint="audit it anew: `--fresh`")
    return stubbed


def _proof(red: RedTest) -> RedProof:
    return RedProof(red.id, red.why, f"{red.path}:{red.line}" if red.path else "", red.message)


def _liveness(report: AuditReport, unit: UnitReport) -> str:
    if not report.settings.get("deep"):
        return "not-tried"
    return "partly" if unit.notes else "live"
