"""Who worked in a stage, and whether the validator is somebody else than the tests' author."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.cycle import next_step
from verdigris.core.paths import PathClass
from verdigris.core.records import Actor
from verdigris.languages.registry import holds_tests
from verdigris.storage.open_calls import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from verdigris.core.state import Cycle
    from verdigris.storage.project import Project

AGENT = "agent"
KERNEL = Actor("kernel", "validator", "tdd")
"""Who validates where nobody judges besides: code that wrote no test."""


def identity_of(actor: Actor) -> str:
    """`client/role/context`, as evidence names it."""
    return "/".join(part for part in (actor.client, actor.role, actor.context) if part)


def workers_since(
    project: Project, cycle: Cycle, is_work: Callable[[str], bool], changed: Collection[str] = ()
) -> tuple[Actor, ...]:
    """Who wrote what is the open stage's work: by the gate's records, else whoever ends the stage.

    `changed`: paths of that work that differ from the stage's start.

    What a shell wrote is recorded at its call's end. Where something changed that no record explains, such as
    the write of a process that outlived its call, nobody is cleared: every agent of the stage counts.
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
    """The author of a test does not certify it."""
    if validator.role == AGENT and validator.context == UNKNOWN:
        why = "Nothing says which agent runs this command: its client changed it after the gate had seen it."
        return Deny("unknown-context", why, "run the `tdd cycle …` call as a plain command of its own")
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
