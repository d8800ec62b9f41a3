"""Ends a cycle with evidence, and checks evidence against the log and git."""

from __future__ import annotations

import json
from collections.abc import Iterator

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import CycleEnded, decode
from verdigris.core.fold import cycle_after
from verdigris.core.paths import PathClass
from verdigris.core.policy.cycle import next_step
from verdigris.core.records import from_json, to_json
from verdigris.core.state import DONE, Cycle, Stage
from verdigris.core.value import replace
from verdigris.drivers.cycle.frame import (
    CycleStep,
    commit_stage,
    count_of,
    deny_same,
    identity_of,
    is_test,
    workers_since,
)
from verdigris.drivers.cycle.pages import FOLDER, EvidenceFacts, next_id, path_of, read_fields, render
from verdigris.drivers.cycle.settings import load_cycle
from verdigris.drivers.private_worktree import ancestor
from verdigris.drivers.specs.spec import normalized_digest
from verdigris.storage.durable_files import write_whole
from verdigris.storage.git import git
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.storage.snapshots.head_moves import list_commit, read_as_checked_out
from verdigris.turns.operation import operation


def complete(project: Project, cycle: Cycle) -> CycleStep | Deny:
    """Writes the evidence and commits it with the code; the cycle activates no spec itself."""
    denial = _deny_completion(project, cycle)
    if denial is not None:
        return denial
    source = [c.path for c in difference(project, cycle.frozen, cycle.accepted).source]
    coders = workers_since(project, cycle, lambda path: not is_test(project, path), source)
    cycle = replace(cycle, workers={**cycle.workers, Stage.GREEN: coders})
    facts = _gather(project, cycle, _evidence_id(project, cycle), now_ms())
    path = path_of(facts.id)
    write_whole(project.root / path, render(facts).encode())
    subject = f"feat: {cycle.spec_id}, shown by {count_of(len(cycle.tests), 'test')}"
    trailers = (("TDD-Verdict", "accepted"), ("TDD-Evidence", facts.id))
    made = commit_stage(project, cycle, load_cycle(project.root), subject, trailers, own=(path,))
    ended = CycleEnded(
        cycle=cycle.id,
        outcome=DONE,
        at=facts.at,
        by=project.actor,
        evidence=facts.id,
        commit=made,
        tree=project.workspace.snapshot(),
        workers=cycle.workers.get(Stage.GREEN, ()),
    )
    with operation(project):
        project.record(ended, sync=True)
    return CycleStep(
        tuple(handoff(facts, made)), project.state().cycle, f"review the code, then activate {cycle.spec_id}"
    )


def _deny_completion(project: Project, cycle: Cycle) -> Deny | None:
    if not cycle.proven:
        turn = project.state().turn is not None
        why = "The frozen tests were not accepted yet."
        return Deny("cycle-green", why, next_step(cycle, turn=turn))
    changed = difference(project, cycle.accepted, project.workspace.snapshot()).protected
    if changed:
        why = f"{changed[0]} changed since the code was accepted, and nothing proves that change."
        return Deny("cycle-green", why, f"put {changed[0]} back, then `tdd cycle advance`")
    for validator in cycle.workers.get(Stage.VALIDATE, ()):
        if same := deny_same(cycle, validator):
            return same
    return None


def _evidence_id(project: Project, cycle: Cycle) -> str:
    """Returns the id of this cycle's page if a kill left one, which is written again; else the next id."""
    tests = cycle.commits.get(Stage.RED, "")
    folder = project.root / FOLDER
    names = sorted(path.name for path in folder.glob("EVID-*.md")) if folder.is_dir() else []
    for name in names:
        text = (folder / name).read_text("utf-8", "replace")
        before = git(project.root, "cat-file", "-e", f"{tests}:{FOLDER}/{name}").ok
        if not before and read_fields(text).get("cycle") == cycle.id:
            return name.removesuffix(".md")
    return next_id(names)


def _gather(project: Project, cycle: Cycle, evidence: str, at: int) -> EvidenceFacts:
    data = project.workspace.blob_bytes(cycle.record)
    settled, concerns = 0, ()
    for record in project.log.records(start=cycle.since):
        if record.seq > cycle.settled:
            break
        if record.type == "settled" and record.worktree == project.repo.worktree:
            settled, concerns = record.seq, tuple(record.data.get("concerns", ()))
    return EvidenceFacts(evidence, cycle, json.loads(data or b"{}"), settled, concerns, at)


def handoff(facts: EvidenceFacts, commit: str) -> Iterator[str]:
    cycle = facts.cycle
    validators = ", ".join(map(identity_of, cycle.workers.get(Stage.VALIDATE, ())))
    scenarios = len(facts.validation.get("scenarios", {}))
    yield f"TDD cycle complete for {cycle.spec_id} (branch {cycle.on})"
    yield f"  plan:      {cycle.plan}"
    yield f"  RED:       {count_of(len(cycle.tests), 'test')}, each failed on an assertion"
    yield f"  validator: PASS — {facts.id} (covers all {scenarios} scenarios; identity {validators})"
    yield f"  freeze:    spec_hash {cycle.frozen_hash[:12]}… stamped at validator PASS"
    yield f"  GREEN:     tests pass, check clean; TEST_BUG count = {cycle.bugs}; commit {commit[:12]}"
    yield f"  EVIDENCE:  {path_of(facts.id)} carries the PASS"
    yield f"ACTIVATE {cycle.spec_id} {facts.id}"


# -- verify -----------------------------------------------------------------------------------


def verify(project: Project, name: str, *, by_git: bool = False) -> tuple[str, ...]:
    """What is wrong with a page of evidence, a line each; nothing where it holds.

    `by_git`: a clone has no log, so that only what git tells is compared.
    """
    evidence = name.rpartition("/")[2].removesuffix(".md")
    path = path_of(evidence)
    try:
        text = (project.root / path).read_text("utf-8", "replace")
    except OSError:
        raise UserError(f"there is no {path}.", hint=f"`ls {FOLDER}` lists what there is") from None
    by_log = () if by_git else tuple(_verify_log(project, evidence, text))
    return by_log + tuple(_verify_git(project, path, text))


def _verify_log(project: Project, evidence: str, text: str) -> Iterator[str]:
    found = _find_ended(project, evidence)
    if found is None:
        yield (
            f"the log of this repository has no cycle that ended with {evidence}; in a clone, which has"
            " no log, `--by-git` compares the rest"
        )
        return
    cycle, at = found
    if render(_gather(project, cycle, evidence, at)) != text:
        yield "the page is not what the log says: a line was changed by hand"
    for validator in cycle.workers.get(Stage.VALIDATE, ()):
        if validator in cycle.authors:
            yield f"{identity_of(validator)} wrote and validated the tests"
    yield from _verify_code(project, cycle, path_of(evidence))


def _verify_code(project: Project, cycle: Cycle, path: str) -> Iterator[str]:
    """Yields files of tests and source in the page's commit that differ from the accepted ones."""
    added = _adding_commit(project, path)
    if not added:
        return
    held = {entry.path: entry for entry in list_commit(project.repo, added).files}
    accepted = {entry.path: entry for entry in project.workspace.files(cycle.accepted)}
    for name in sorted(held.keys() | accepted.keys()):
        there, proven = held.get(name), accepted.get(name)
        if project.classify(name) not in {PathClass.SOURCE, PathClass.TEST}:
            continue
        if there is not None and proven is not None and there.blob == proven.blob:
            continue
        now = None if there is None else read_as_checked_out(project.repo, there)
        if now != project.workspace.read(cycle.accepted, name):
            yield f"{name} is another in commit {added[:12]} than the one that was accepted"


def _adding_commit(project: Project, path: str) -> str:
    return git(project.root, "log", "-1", "--format=%H", "--diff-filter=A", "--", path).out.strip()


def _find_ended(project: Project, evidence: str) -> tuple[Cycle, int] | None:
    """Returns the cycle as it was when its evidence was written, and the time."""
    cycles: dict[str, Cycle | None] = {}
    for record in project.log.records():
        event = decode(record.type, record.data)
        if event is None:
            continue
        before = cycles.get(record.worktree)
        if isinstance(event, CycleEnded) and event.evidence == evidence and before is not None:
            workers = {**before.workers, Stage.GREEN: event.workers}
            known = from_json(Cycle, {**to_json(before), "workers": to_json(workers)})
            return known, event.at
        cycles[record.worktree] = cycle_after(before, event, record.seq)
    return None


def _verify_git(project: Project, path: str, text: str) -> Iterator[str]:
    added = _adding_commit(project, path)
    if not added:
        yield f"{path} is in no commit"
        return
    if git(project.root, "show", f"{added}:{path}").out != text:
        yield f"{path} differs from what commit {added[:12]} added"
    for key, (where, digest) in _files_of(text).items():
        file = git(project.root, "show", f"{added}:{where}")
        if not file.ok or normalized_digest(file.out.encode("utf-8", "surrogateescape")) != digest:
            yield f"the {key} {where} had another hash in commit {added[:12]} than the page says"
    tests = text.partition("- commits: plan ")[2].partition("tests ")[2].partition(";")[0].strip()
    if not tests or not ancestor(project.root, tests, added):
        yield f"the commit with the tests ({tests[:12] or 'none'}) does not come before {added[:12]}"
        return
    changed = git(project.root, "diff", "--name-only", "-z", tests, added).out.split("\0")
    for name in changed:
        if name and project.classify(name).value == "test":
            yield f"{name} changed between the frozen tests and the code"


def _files_of(text: str) -> dict[str, tuple[str, str]]:
    """Returns path and hash of spec and plan, as the page has them."""
    items = (line[2:] for line in text.splitlines() if line.startswith("- ") and ": " in line)
    lines = dict(item.split(": ", 1) for item in items)
    spec, plan = lines.get("spec", ""), lines.get("plan", "")
    return {
        "spec": (spec.partition("`")[2].partition("`")[0], lines.get("spec_hash", "")),
        "plan": (plan.partition("`")[2].partition("`")[0], plan.rpartition("(")[2].rstrip(")")),
    }
