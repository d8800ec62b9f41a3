"""Finds triples in a repository's log and in reports of `tdd audit --json`.

In the log they are the accepted settlements, with reds, trees and authors. In a report they are the
test-driven changes, whose trees are read from git's objects.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from verdigris.core.errors import StorageError, UserError, VerdigrisError
from verdigris.core.events import Accepted, OracleFrozen, Settled, SuiteRun, TestRun, decode
from verdigris.core.fold import ACCEPTED, step
from verdigris.core.paths import Classes, classify
from verdigris.core.records import Record, from_json
from verdigris.core.settings import Settings
from verdigris.core.state import Configuration, State, WorktreeState
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.drivers.audit.red_runs import lay_tests
from verdigris.drivers.audit.report import AuditOutcome, AuditReport, RedTest, UnitReport, read_report
from verdigris.drivers.audit.tree_runs.configuration import UnitConfiguration, configure
from verdigris.drivers.corpus.contents import (
    ORACLE,
    CorpusContents,
    NoTripleMade,
    RepositoryName,
    TreeObjects,
    patches_against,
)
from verdigris.drivers.corpus.session_source import Sessions
from verdigris.drivers.corpus.triple import (
    Author,
    LeftOut,
    RedProof,
    Triple,
    describe_task,
    task_of_session,
    task_of_tests,
    triple_id,
)
from verdigris.execution.test_selection import stack_of
from verdigris.languages.registry import holds_tests
from verdigris.storage.log.files import LOG
from verdigris.storage.project import open_log
from verdigris.storage.repository import Repository

_NOT_LIVE = "not shown to be live: "
_NOT_TRIED = "liveness not tried"


@value
class AcceptedTurn:
    """An accepted settlement, and the log's state just before it."""

    record: Record
    """The settlement's record."""
    settled: Settled
    before: WorktreeState
    reds: tuple[TestRun, ...]
    triples: tuple[Accepted, ...]
    findings: tuple[str, ...] = ()
    """Changes of what existing tests ask for, found at the freeze."""
    suite: SuiteRun | None = None
    configuration: Configuration | None = None


def read_log(
    repo: Repository, objects: TreeObjects, named: RepositoryName, sessions: Sessions
) -> CorpusContents:
    """Makes a triple of every accepted turn; turns whose trees the store has lost are left out and named."""
    if not (repo.control / LOG).is_file():
        raise UserError(
            f"there is no log in {repo.root}: nothing was proven here.",
            hint="run this where `tdd init` was run, or give audits: `--audit FILE --no-log`",
        )
    triples: list[Triple] = []
    left_out: list[LeftOut] = []
    for turn in accepted_turns(open_log(repo).records()):
        try:
            triples.append(_triple_of_turn(turn, objects, named, sessions))
        except (StorageError, NoTripleMade) as error:
            left_out.append(LeftOut(f"log:{turn.record.seq}", str(error)))
    return CorpusContents(tuple(triples), left_out=tuple(left_out))


def accepted_turns(records: Iterator[Record]) -> Iterator[AcceptedTurn]:
    """A settlement, its suite and an acceptance for each claim are one batch, so they follow each other."""
    state = State()
    reds: dict[int, TestRun] = {}
    findings: dict[str, tuple[str, ...]] = {}
    open_turn: AcceptedTurn | None = None
    for record in records:
        before, state = state, step(state, record)
        event = decode(record.type, record.data)
        if open_turn is not None and not isinstance(event, SuiteRun | Accepted):
            yield open_turn
            open_turn = None
        match event:
            case TestRun() if event.red == "valid":
                reds[record.seq] = event
            case OracleFrozen():
                findings[f"{record.worktree} {event.turn}"] = event.findings
            case Settled() if event.verdict == ACCEPTED:
                here = before.of(record.worktree)
                concerns = findings.get(f"{record.worktree} {event.turn}", ())
                configuration = here.configuration or before.configuration
                open_turn = AcceptedTurn(record, event, here, (), (), concerns, None, configuration)
            case _ if open_turn is not None:
                open_turn = _with_event(open_turn, event, reds)
    if open_turn is not None:
        yield open_turn


def _with_event(turn: AcceptedTurn, event: object, reds: Mapping[int, TestRun]) -> AcceptedTurn:
    match event:
        case SuiteRun():
            return replace(turn, suite=event)
        case Accepted():
            red = (reds[event.red],) if event.red in reds else ()
            return replace(turn, triples=(*turn.triples, event), reds=(*turn.reds, *red))
        case _:
            return turn


def _triple_of_turn(
    turn: AcceptedTurn, objects: TreeObjects, named: RepositoryName, sessions: Sessions
) -> Triple:
    if not turn.triples or len(turn.reds) != len(turn.triples):
        raise NoTripleMade("the log has no valid red for each test that it accepted")
    if turn.configuration is None:
        raise NoTripleMade("the log has no configuration before it")
    settings = from_json(Settings, turn.configuration.settings)
    classes = Classes.from_json(turn.configuration.classes)
    red_tree, green_tree = turn.triples[0].before, turn.triples[0].after
    commit = turn.before.head.commit if turn.before.head else None
    base_tree = turn.before.ground or red_tree
    for tree in (base_tree, red_tree, green_tree):
        if not objects.has_all(tree):
            raise NoTripleMade(f"the store has lost the tree {tree}, or a file in it: `tdd doctor` checks it")
    reds = tuple(map(_proof_of_run, turn.reds))
    natives = [red.native for red in reds]
    commit_tree = objects.tree_of(commit or "")
    against = patches_against(objects, classes, commit_tree, green_tree) if commit_tree else None
    author = sessions.author_of(turn.record, turn.before)
    session = sessions.find_story(author.context) if author.role == "agent" else None
    stack = stack_of(settings.stacks, split_id(natives[0]).path)
    return Triple(
        id=triple_id(named.name, red_tree, green_tree, natives),
        task=task_of_session(named.name, author.context) if session else task_of_tests(named.name, natives),
        repository=named.name,
        origin=f"log:{turn.record.seq}",
        statement=(session.statement if session else "") or describe_task(reds),
        base_commit=commit or "" if commit_tree else "",
        base_tree=base_tree,
        red_tree=red_tree,
        green_tree=green_tree,
        reds=reds,
        passing=_passing(turn, objects, frozenset(natives)),
        test_patch=objects.patch(base_tree, red_tree),
        patch=objects.patch(red_tree, green_tree),
        against_commit=against,
        verdict=turn.settled.verdict,
        liveness=_turn_liveness(settings, turn.settled.concerns),
        weakening=(*turn.findings, *(f"revised: {name}" for name in turn.before.revised)),
        concerns=turn.settled.concerns,
        environment=turn.before.turn.foundation if turn.before.turn else "",
        language=stack.language,
        runner=stack.runner,
        author=author,
        created=datetime.fromtimestamp(turn.record.ts / 1000, UTC).isoformat(timespec="seconds"),
        remote=named.remote,
    )


def _proof_of_run(run: TestRun) -> RedProof:
    kind, _, message = run.failure.partition(": ")
    native = run.native_id if run.native_id != run.test_id else ""
    return RedProof(run.test_id, kind, run.place, message, native)


def _passing(turn: AcceptedTurn, objects: TreeObjects, claimed: frozenset[str]) -> tuple[str, ...]:
    """Returns tests that passed in the suite before and in the verdict's; none if one of both was not run."""
    if turn.suite is None or turn.before.baseline is None:
        return ()
    records = (objects.blob(run.record) for run in (turn.before.baseline, turn.suite))
    before, after = ({} if data is None else json.loads(data) for data in records)
    both = (name for name, status in after.items() if status == before.get(name) == "pass")
    return tuple(sorted(name for name in both if name not in claimed))


def _turn_liveness(settings: Settings, concerns: tuple[str, ...]) -> str:
    if not settings.liveness or any(_NOT_TRIED in concern for concern in concerns):
        return "not-tried"
    return "partly" if any(concern.startswith(_NOT_LIVE) for concern in concerns) else "live"


def read_audit(path: Path, objects: TreeObjects, named: RepositoryName) -> CorpusContents:
    """Makes a triple of every test-driven change; changes that cannot be read any more are named."""
    report = read_report(path)
    triples: list[Triple] = []
    left_out: list[LeftOut] = []
    for unit in report.units:
        if unit.outcome is not AuditOutcome.TEST_DRIVEN:
            continue
        try:
            triples.append(_triple_of_unit(report, unit, objects, named))
        except (VerdigrisError, NoTripleMade) as error:
            left_out.append(LeftOut(f"audit:{unit.commit.id}", str(error)))
    return CorpusContents(tuple(triples), left_out=tuple(left_out))


def _triple_of_unit(
    report: AuditReport, unit: UnitReport, objects: TreeObjects, named: RepositoryName
) -> Triple:
    for tree in (unit.before, unit.after):
        if not objects.has_all(tree):
            raise NoTripleMade(f"this repository has not the tree {tree}, or not all of it")
    configuration = configure(objects.folder, objects.project.workspace, objects.project.root, unit.after)
    valid = [red for red in unit.reds if red.valid]
    reds = tuple(RedProof(red.id, red.why, red.place, red.message) for red in valid)
    red_tree = _red_tree(objects, configuration, unit, valid)
    natives = [red.native for red in reds]
    commit = report.base if report.squash else next(iter(unit.commit.parents), "")
    commit = commit if objects.tree_of(commit) == unit.before else ""
    stack = stack_of(configuration.settings.stacks, split_id(natives[0]).path)
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
        passing=unit.passing,
        test_patch=objects.patch(unit.before, red_tree),
        patch=objects.patch(red_tree, unit.after),
        against_commit=patches_against(objects, configuration.classes, unit.before, unit.after)
        if commit
        else None,
        verdict=str(unit.outcome),
        liveness="not-tried" if not report.settings.get("deep") else "partly" if unit.notes else "live",
        weakening=tuple(f"{lost.path}:{lost.line}: {lost.kind}" for lost in unit.weakened),
        concerns=tuple(f"{c.path}:{c.line}: {c.kind}: {c.what}" for c in unit.concerns),
        environment=unit.environment,
        language=stack.language,
        runner=stack.runner,
        author=Author("", "git", name=unit.commit.author),
        created=unit.commit.date,
        remote=named.remote,
    )


def _red_tree(
    objects: TreeObjects, configuration: UnitConfiguration, unit: UnitReport, reds: list[RedTest]
) -> str:
    """Returns the tests of after over the source of before, with the stubs that the audit made."""
    project = replace(objects.project, settings=configuration.settings, configured=configuration.classes)
    changed = [change.path for change in objects.changes(unit.before, unit.after)]
    tests = [
        path
        for path in changed
        if classify(path, configuration.classes) in ORACLE
        or holds_tests(path, classify(path, configuration.classes))
    ]
    laid = lay_tests(project, unit.before, unit.after, tests)
    stubbed = objects.apply(laid, *dict.fromkeys(red.stub for red in reds if red.stub))
    if stubbed is None:
        raise StorageError(f"the stubs of {unit.commit.id} do not apply", hint="audit it anew: `--fresh`")
    return stubbed
