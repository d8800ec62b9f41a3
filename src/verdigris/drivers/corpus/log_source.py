"""Finds triples in a repository's log: what settlements accepted, with reds, trees and authors."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from verdigris.core.errors import StorageError, UserError
from verdigris.core.events import Accepted, OracleFrozen, Settled, SuiteRun, TestRun, decode
from verdigris.core.fold import ACCEPTED, step
from verdigris.core.paths import Classes
from verdigris.core.records import from_json
from verdigris.core.settings import Settings
from verdigris.core.state import State
from verdigris.core.test_ids import split_id
from verdigris.core.value import replace, value
from verdigris.drivers.corpus.contents import CorpusContents, NoTripleMade, patches_against
from verdigris.drivers.corpus.triple import (
    LeftOut,
    RedProof,
    Triple,
    describe_task,
    task_of_session,
    task_of_tests,
    triple_id,
)
from verdigris.execution.test_selection import stack_of
from verdigris.storage.log.files import LOG
from verdigris.storage.project import open_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from verdigris.core.records import Record
    from verdigris.core.state import Configuration, WorktreeState
    from verdigris.drivers.corpus.contents import RepositoryName
    from verdigris.drivers.corpus.session_source import Sessions
    from verdigris.drivers.corpus.tree_objects import TreeObjects
    from verdigris.storage.repository import Repository

_NOT_LIVE = "not shown to be live: "
_NOT_TRIED = "liveness not tried"


@value
class AcceptedTurn:
    """A settlement that was accepted, and what the log knew just before it."""

    record: Record
    """Of the settlement."""
    settled: Settled
    before: WorktreeState
    reds: tuple[TestRun, ...]
    triples: tuple[Accepted, ...]
    findings: tuple[str, ...] = ()
    """What the frozen tests ask for otherwise than before."""
    suite: SuiteRun | None = None
    configuration: Configuration | None = None


def read_log(
    repo: Repository, objects: TreeObjects, named: RepositoryName, sessions: Sessions
) -> CorpusContents:
    """Every accepted turn as a triple; those whose trees the store has lost are left out, and named."""
    if not (repo.control / LOG).is_file():
        raise UserError(
            f"there is no log in {repo.root}: nothing was proven here.",
            hint="run this where `tdd init` was run, or give audits: `--audit FILE --no-log`",
        )
    triples: list[Triple] = []
    left_out: list[LeftOut] = []
    for turn in accepted_turns(open_log(repo).records()):
        try:
            triples.append(_make_triple(turn, objects, named, sessions))
        except (StorageError, NoTripleMade) as error:
            left_out.append(LeftOut(f"log:{turn.record.seq}", str(error)))
    return CorpusContents(tuple(triples), left_out=tuple(left_out))


def accepted_turns(records: Iterator[Record]) -> Iterator[AcceptedTurn]:
    """A turn's settlement, its suite and one acceptance a claim are one batch: they follow each other."""
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
                told = findings.get(f"{record.worktree} {event.turn}", ())
                configuration = here.configuration or before.configuration
                open_turn = AcceptedTurn(record, event, here, (), (), told, None, configuration)
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


def _make_triple(
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
    reds = tuple(map(_proof, turn.reds))
    natives = [red.native for red in reds]
    commit_tree = objects.tree_of(commit or "")
    against = patches_against(objects, classes, commit_tree, green_tree) if commit_tree else None
    author = sessions.author_of(turn.record, turn.before)
    session = sessions.named(author.context) if author.role == "agent" else None
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
        liveness=_liveness(settings, turn.settled.concerns),
        weakening=(*turn.findings, *(f"revised: {name}" for name in turn.before.revised)),
        concerns=turn.settled.concerns,
        environment=turn.before.turn.foundation if turn.before.turn else "",
        language=stack.language,
        runner=stack.runner,
        author=author,
        created=datetime.fromtimestamp(turn.record.ts / 1000, UTC).isoformat(timespec="seconds"),
        remote=named.remote,
    )


def _proof(run: TestRun) -> RedProof:
    kind, _, message = run.failure.partition(": ")
    native = run.native_id if run.native_id != run.test_id else ""
    return RedProof(run.test_id, kind, run.place, message, native)


def _passing(turn: AcceptedTurn, objects: TreeObjects, claimed: frozenset[str]) -> tuple[str, ...]:
    """Those that passed in the suite before and in the verdict's; unknown where one of both was not run."""
    if turn.suite is None or turn.before.baseline is None:
        return ()
    records = (objects.blob(one.record) for one in (turn.before.baseline, turn.suite))
    before, after = ({} if data is None else json.loads(data) for data in records)
    both = (name for name, status in after.items() if status == before.get(name) == "pass")
    return tuple(sorted(name for name in both if name not in claimed))


def _liveness(settings: Settings, concerns: tuple[str, ...]) -> str:
    if not settings.liveness or any(_NOT_TRIED in concern for concern in concerns):
        return "not-tried"
    return "partly" if any(concern.startswith(_NOT_LIVE) for concern in concerns) else "live"
