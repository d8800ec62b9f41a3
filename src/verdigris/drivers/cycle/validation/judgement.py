"""`tdd cycle validate`: the kernel's checks first, then what a person or a model finds on top of them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from verdigris.checks.observation import difference
from verdigris.core.actions import Deny
from verdigris.core.errors import UserError
from verdigris.core.events import CycleStopped, CycleValidated, Event, HeldOut
from verdigris.core.paths import FILE, PathClass
from verdigris.core.policy.cycle import next_step
from verdigris.core.records import Actor, to_json
from verdigris.core.state import BLOCKER, CONCERNS, PASS, Cycle, Stage
from verdigris.core.value import value
from verdigris.drivers.cycle.frame import (
    KERNEL,
    CycleStep,
    back_to_red,
    count_of,
    deny_misplaced,
    deny_same,
    report_step,
    spec_of,
    verb,
)
from verdigris.drivers.cycle.settings import load_cycle
from verdigris.drivers.cycle.validation import Validation, ValidationCheck, ValidationFinding
from verdigris.drivers.cycle.validation.checks import validate_tests
from verdigris.drivers.cycle.validation.coverage import RedFacts, observe_reds
from verdigris.drivers.specs.spec import Spec
from verdigris.runners.protocol import Progress
from verdigris.storage import durable_files
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.turns.operation import operation

_ORDER = (PASS, CONCERNS, BLOCKER)
HOLDOUT = f"{durable_files.TDD_FOLDER}/holdout"


@value
class GivenVerdict:
    """The verdict of a person or a model; it can make the kernel's verdict worse, never better."""

    verdict: str
    findings: tuple[str, ...] = ()
    """Each as `file:line — what is wrong`."""


@verb("cycle validate")
def validate(
    project: Project, cycle: Cycle, judged: GivenVerdict | None = None, *, progress: Progress | None = None
) -> CycleStep | Deny:
    if denial := deny_misplaced(project, cycle) or _deny_validating(project, cycle, judged):
        return denial
    held_out = _take_held_out(project)
    spec = spec_of(project, cycle)
    seen = observe_reds(project, cycle, spec, progress)
    if isinstance(seen, Deny):
        return seen
    natives = [test.run.native_id for test in seen.tests]
    wrong = tuple(ValidationFinding("red", "concern", "", what) for what in seen.changed)
    before = (
        ValidationCheck("coverage", (*seen.faults, *seen.concerns)),
        ValidationCheck("red", wrong),
    )
    checks = validate_tests(project, natives, start=cycle.planned, before=before)
    said = _record_verdict(project, cycle, spec, seen, checks, judged)
    hidden = (f"held out: {', '.join(held_out)}",) if held_out else ()
    return report_step(project, *said, *hidden, *(f"note: {note}" for note in checks.notes))


def _deny_validating(project: Project, cycle: Cycle, judged: GivenVerdict | None) -> Deny | None:
    if cycle.stage is not Stage.VALIDATE:
        why = f"There is nothing to validate in stage {cycle.stage}."
        return Deny("cycle-validate", why, next_step(cycle))
    if judged is None and load_cycle(project.root).judgement == "required":
        return Deny(
            "cycle-validate",
            "A person or a model has to judge the tests here (`cycle: {judgement: required}`).",
            "read spec and tests, then `tdd cycle validate --verdict PASS|CONCERNS|BLOCKER "
            '--finding "FILE:LINE — WHAT"`',
        )
    changed = difference(project, cycle.tree, project.workspace.snapshot()).protected
    if changed:
        why = f"{changed[0]} changed since the tests were handed in."
        return Deny("cycle-validate", why, f"put {changed[0]} back, then `tdd cycle validate`")
    return deny_same(cycle, project.actor) if judged is not None else None


# -- held-out tests ---------------------------------------------------------------------------


def _take_held_out(project: Project) -> tuple[str, ...]:
    """Moves files below `.tdd/holdout` out of the tree; each is then held out at its path below there."""
    folder = project.root / HOLDOUT
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".gitignore")
    if not files:
        return ()
    taken: dict[str, str] = {}
    for file in files:
        path = file.relative_to(folder).as_posix()
        if project.classify(path) is not PathClass.TEST or (project.root / path).exists():
            raise UserError(
                f"{HOLDOUT}/{path} cannot be held out: {path} is not a new test file.",
                hint=f"name it as a test of its own would be, e.g. {HOLDOUT}/tests/test_held_out.py",
            )
        taken[path] = f"{FILE} {project.workspace.blob(file.read_bytes())}"
    with operation(project):
        project.record(HeldOut(files=taken), sync=True)
    for file in files:
        file.unlink()
    return tuple(taken)


# -- the verdict ------------------------------------------------------------------------------


def _record_verdict(
    project: Project, cycle: Cycle, spec: Spec, seen: RedFacts, checks: Validation, given: GivenVerdict | None
) -> tuple[str, ...]:
    """Returns the verdict and its findings, as they are told."""
    by, judged = (KERNEL, GivenVerdict(PASS)) if given is None else (project.actor, given)
    findings = (*map(str, checks.findings), *judged.findings)
    document = json.dumps(_document(spec, seen, checks, given, by), sort_keys=True)
    event = CycleValidated(
        cycle=cycle.id,
        verdict=max(checks.verdict, judged.verdict, key=_ORDER.index),
        record=project.workspace.blob(document.encode()),
        tree=seen.tree,
        at=now_ms(),
        by=by,
        findings=findings[:50],
    )
    with operation(project):
        project.record(event, *_consequences(project, cycle, event), sync=True)
    return (f"validation: {event.verdict} ({count_of(len(findings), 'finding')})", *findings)


def _consequences(project: Project, cycle: Cycle, event: CycleValidated) -> Sequence[Event]:
    if event.verdict != CONCERNS:
        return ()
    if cycle.rounds + 1 >= load_cycle(project.root).rounds:
        why = f"the tests were sent back {cycle.rounds + 1} times: {next(iter(event.findings), '')}"
        return (CycleStopped(cycle=cycle.id, why=why),)
    return (back_to_red(project, cycle, "sent back by validation", event.by),)


def _document(
    spec: Spec, seen: RedFacts, checks: Validation, given: GivenVerdict | None, by: Actor
) -> dict[str, object]:
    """Returns what is kept of a validation; evidence is made from it."""
    return {
        "verdict": checks.verdict,
        "by": to_json(by),
        "tests": sorted(seen.test_ids),
        "scenarios": {
            one.id: {"digest": one.digest, "tests": sorted(seen.of(one.id))} for one in spec.scenarios
        },
        "reds": {
            test.run.test_id: {"failure": test.run.failure, "place": test.run.place} for test in seen.tests
        },
        "checks": [to_json(check) for check in checks.checks],
        "judgement": None if given is None else to_json(given),
    }
