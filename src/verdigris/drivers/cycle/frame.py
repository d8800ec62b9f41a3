"""The frame of every verb of a cycle: the open cycle, refusals, who worked in a stage, and its commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import CycleAdvanced, CycleEnded, CycleFrozen, CycleResumed, CycleStarted
from verdigris.core.paths import PathClass
from verdigris.core.policy.cycle import next_step, supersede_steps
from verdigris.core.records import Actor
from verdigris.core.settings import DriverSettings
from verdigris.core.state import Cycle, Stage
from verdigris.core.turn_events import denial_event
from verdigris.core.value import value
from verdigris.drivers.commits import announce, author_of, compose, list_uncommitted
from verdigris.drivers.cycle.entry import read_at
from verdigris.drivers.private_worktree import ancestor, ref
from verdigris.drivers.specs.spec import Spec
from verdigris.languages.registry import holds_tests
from verdigris.storage import durable_files
from verdigris.storage.calls.callers import UNKNOWN
from verdigris.storage.git import git
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.storage.repository import head, resolve
from verdigris.turns.git import CommitIdentity, CommitRefused, commit
from verdigris.turns.operation import operation

P = ParamSpec("P")


@value
class CycleStep:
    """A verb was carried out."""

    said: tuple[str, ...]
    cycle: Cycle | None
    next: str


CycleAct = Callable[Concatenate[Project, Cycle, P], CycleStep | Deny]
CycleVerb = Callable[Concatenate[Project, P], CycleStep | Deny]


def report_step(project: Project, *said: str) -> CycleStep:
    state = project.state()
    cycle = state.cycle
    following = next_step(cycle, turn=state.turn is not None) if cycle is not None else "`tdd status`"
    return CycleStep(said, cycle, following)


def count_of(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_NO_CYCLE = Deny("no-cycle", "No cycle is open here.", "`tdd cycle start SPEC`")


def verb(name: str) -> Callable[[CycleAct[P]], CycleVerb[P]]:
    """Makes a function a verb: it is given the open cycle, and a refusal that it returns is recorded."""

    def decorate(act: CycleAct[P]) -> CycleVerb[P]:
        @wraps(act)
        def carry_out(project: Project, /, *args: P.args, **options: P.kwargs) -> CycleStep | Deny:
            cycle = project.state().open_cycle
            done = _NO_CYCLE if cycle is None else act(project, cycle, *args, **options)
            return refuse(project, done, name) if isinstance(done, Deny) else done

        return carry_out

    return decorate


def refuse(project: Project, denial: Deny, name: str) -> Deny:
    project.record(denial_event(denial, name))
    return denial


Move = TypeVar("Move", CycleStarted, CycleAdvanced, CycleFrozen, CycleResumed, CycleEnded)


def record_move(project: Project, kind: type[Move], cycle: str, **facts: Any) -> Move:
    """Records that the actor moves the cycle now."""
    event = kind(cycle=cycle, at=now_ms(), by=project.actor, **facts)
    with operation(project):
        project.record(event, sync=True)
    return event


def back_to_red(project: Project, cycle: Cycle, why: str, by: Actor | None = None) -> CycleAdvanced:
    """The event that opens the tests again."""
    tree = project.workspace.snapshot()
    return CycleAdvanced(
        cycle=cycle.id, stage=Stage.RED, tree=tree, at=now_ms(), by=by or project.actor, why=why
    )


def deny_misplaced(project: Project, cycle: Cycle) -> Deny | None:
    """Refuses in any stage if the cycle is stopped, its branch is not checked out, or its spec changed."""
    if cycle.stopped:
        return Deny("cycle-stopped", f"The cycle waits for a person: {cycle.stopped}", next_step(cycle))
    branch = head(project.repo).branch
    # A branch may have a new name: the old one is gone, and HEAD descends from the cycle's start.
    is_renamed = (
        branch is not None
        and resolve(project.repo, ref(cycle.on)) is None
        and ancestor(project.root, cycle.commit, "HEAD")
    )
    if branch != cycle.on and not is_renamed:
        return Deny(
            "cycle-branch",
            f"The cycle {cycle.id} began on branch {cycle.on}; checked out is {branch or 'no branch'}.",
            f"`tdd sync -- switch {cycle.on}`, or a person ends it: `tdd cycle abort --why WHY`",
        )
    return deny_drift(project, cycle)


def deny_drift(project: Project, cycle: Cycle) -> Deny | None:
    spec = read_at(project, cycle.spec_path)
    if spec is not None and spec.digest == (cycle.frozen_hash or cycle.spec_hash):
        return None
    what = "is gone" if spec is None else "changed since the cycle began"
    return Deny(
        "spec-drift",
        f"{cycle.spec_path} {what}: the target moved under the tests.",
        f"put it back (`git checkout {cycle.commit[:12]} -- {cycle.spec_path}`); {supersede_steps(cycle)}",
    )


def spec_of(project: Project, cycle: Cycle) -> Spec:
    spec = read_at(project, cycle.spec_path)
    if spec is None:
        raise UserError(f"{cycle.spec_path} is gone.", hint=f"git checkout -- {cycle.spec_path}")
    return spec


AGENT = "agent"
KERNEL = Actor("kernel", "validator", "tdd")
"""The validator if no person or model judges besides: code that wrote no test."""


def identity_of(actor: Actor) -> str:
    """Returns `client/role/context`, which evidence shows."""
    return "/".join(part for part in (actor.client, actor.role, actor.context) if part)


def workers_since(
    project: Project, cycle: Cycle, is_work: Callable[[str], bool], changed: Collection[str] = ()
) -> tuple[Actor, ...]:
    """Returns who wrote the open stage's work: by the gate's records, else whoever ends the stage.

    `changed`: paths of that work that differ from the stage's start.

    Writes of a shell are recorded at its call's end. If something changed that no record explains, such as
    the write of a process that outlived its call, every agent of the stage counts.
    """
    writers: dict[Actor, None] = {}
    agents: dict[Actor, None] = {}
    written: set[str] = set()
    for record in project.log.records(reverse=True):
        if record.seq <= cycle.since:
            break
        if record.worktree != project.repo.worktree:
            continue
        who = Actor(**{key: record.actor.get(key, "") for key in ("role", "context", "client")})
        if who.role == AGENT:
            agents[who] = None
        paths = [path for path in record.data.get("paths", ()) if is_work(path)]
        if record.type == "edit" and paths:
            writers[who] = None
            written.update(paths)
    if set(changed) - written or any(who.context == UNKNOWN for who in writers):
        writers |= {**agents, project.actor: None}
    return tuple(writers) or (project.actor,)


def is_test(project: Project, path: str) -> bool:
    cls = project.classify(path)
    return cls is PathClass.TEST or holds_tests(path, cls)


def deny_same(cycle: Cycle, validator: Actor) -> Deny | None:
    """Refuses a validator who wrote tests: the author of a test does not certify it."""
    if validator.role == AGENT and validator.context == UNKNOWN:
        why = (
            "Nothing says which agent runs this command: its client changed it after the gate had seen it, or"
            " another agent was about to run the same one."
        )
        return Deny("unknown-context", why, "run the `tdd cycle …` call again, as a plain command of its own")
    if validator not in cycle.authors:
        return None
    who = identity_of(validator)
    return Deny(
        "self-validation",
        f"{who} wrote tests of this cycle, and nobody certifies their own.",
        "let another context validate: another sub-agent, another session, or another person with `--as NAME`"
        if validator.role != "person"
        else f"another person validates (`tdd cycle validate --as NAME`); {next_step(cycle)}",
    )


DRIVER = "cycle"
_PERSON = re.compile(r"(.*) <([^<>]*)> \d+ [+-]\d+")


def commit_stage(
    project: Project,
    cycle: Cycle,
    settings: DriverSettings,
    subject: str,
    trailers: Iterable[tuple[str, str]],
    own: Sequence[str] = (),
) -> str:
    """Returns the new commit's id, or HEAD's if nothing changed. `own`: files of ours that belong to it."""
    paths = tuple(_stage_paths(project, own))
    if not paths:
        return head(project.repo).commit or ""
    of_cycle = (
        ("TDD-Cycle", cycle.id),
        ("TDD-Stage", str(cycle.stage)),
        ("TDD-Spec", cycle.spec_id),
        ("TDD-Spec-Hash", cycle.spec_hash),
    )
    message = compose(subject, (), (*of_cycle, *trailers))
    intent = announce(project, message, paths, step=cycle.since, role=str(cycle.stage), driver=DRIVER)
    # The author is git's user; if git knows none, the one that `commit` in tdd.yaml names.
    known = _PERSON.fullmatch(git(project.root, "var", "GIT_AUTHOR_IDENT").out.strip())
    made = commit(project, intent, CommitIdentity(known[1], known[2]) if known else author_of(settings))
    if isinstance(made, CommitRefused):
        repair = "repair it, then again"
        hint = "mend what the hook objects to, then call it again" if made.by_content else repair
        raise UserError(f"the stage's commit was refused: {made.why}\n{made.output}".rstrip(), hint=hint)
    return made


def _stage_paths(project: Project, own: Sequence[str]) -> Iterable[str]:
    """Yields paths that differ from HEAD; new files that are neither test, spec nor source are left out."""
    for state, path in list_uncommitted(project.root):
        known = state != "??" and not path.startswith(f"{durable_files.TDD_FOLDER}/")
        if path in own or known or project.classify(path) not in {PathClass.OTHER, PathClass.SWITCH}:
            yield path
