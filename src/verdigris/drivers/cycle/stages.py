"""The verbs of a cycle; each is refused, with the next move, unless its stage is done."""

from __future__ import annotations

import json
from pathlib import Path

from verdigris.checks.observation import difference, find_unclaimed
from verdigris.checks.weakening import find_losses
from verdigris.core.actions import Deny
from verdigris.core.events import (
    CycleAdvanced,
    CycleEnded,
    CycleFrozen,
    CycleResumed,
    CycleStarted,
    LayingAside,
    TestBugClosed,
)
from verdigris.core.policy.cycle import deny_source, next_step
from verdigris.core.policy.next_move import give_up_losses
from verdigris.core.state import ABORTED, PASS, Cycle, Stage
from verdigris.core.turn_events import next_aside
from verdigris.drivers.cycle.completion import complete
from verdigris.drivers.cycle.entry import decide_entry
from verdigris.drivers.cycle.frame import (
    CycleStep,
    back_to_red,
    commit_stage,
    count_of,
    deny_misplaced,
    deny_same,
    is_test,
    record_move,
    refuse,
    report_step,
    spec_of,
    verb,
    workers_since,
)
from verdigris.drivers.cycle.pages import EXAMPLE, lint_plan
from verdigris.drivers.cycle.settings import load_cycle
from verdigris.drivers.cycle.validation.coverage import observe_reds
from verdigris.drivers.specs.spec import normalized_digest, slug
from verdigris.runners.protocol import Progress
from verdigris.setup.initialisation import has_tests
from verdigris.storage.durable_files import prepare_folder
from verdigris.storage.log.log import now_ms
from verdigris.storage.project import Project
from verdigris.turns import aside
from verdigris.turns.claim_check import ALL_SOURCE, claim_within
from verdigris.turns.operation import operation
from verdigris.turns.test import run_tests


def start(
    project: Project, spelling: str, *, cwd: Path, progress: Progress | None = None
) -> CycleStep | Deny:
    with operation(project) as state:
        entry = decide_entry(project, state, spelling, cwd=cwd)
    if isinstance(entry, Deny):
        return refuse(project, entry, "cycle start")
    spec = entry.spec
    suite = _run_suite(project, progress)
    settings = load_cycle(project.root)
    prepare_folder(project.root)
    # A shell's redirection makes no folder.
    (project.root / settings.plans).mkdir(parents=True, exist_ok=True)
    event = record_move(
        project,
        CycleStarted,
        f"c{project.state().cycles + 1}",
        spec_id=spec.id,
        spec_path=spec.path,
        spec_hash=spec.digest,
        plan=f"{settings.plans}/{slug(spec.id)}.md",
        tree=project.workspace.snapshot(),
        commit=entry.commit,
        on=entry.branch,
        suite=suite,
    )
    scenarios = count_of(len(spec.scenarios), "scenario")
    return report_step(project, f"cycle {event.cycle} on {spec.id}: {scenarios}; stage plan")


def _run_suite(project: Project, progress: Progress | None) -> str:
    """Returns a blob with every test's result, which the tests of the cycle must not change."""
    if not has_tests(project):
        return ""
    tested = run_tests(project, (), cwd=project.root, progress=progress)
    results = {run.native_id: run.status.value for run in tested.tests}
    return project.workspace.blob(json.dumps(results, sort_keys=True).encode())


@verb("cycle advance")
def advance(project: Project, cycle: Cycle, progress: Progress | None = None) -> CycleStep | Deny:
    if denial := deny_misplaced(project, cycle):
        return denial
    match cycle.stage:
        case Stage.PLAN:
            return _end_plan(project, cycle)
        case Stage.RED:
            return _end_red(project, cycle, progress)
        case Stage.VALIDATE if cycle.verdict == PASS:
            return _freeze(project, cycle)
        case Stage.VALIDATE:
            return Deny("cycle-validate", "The tests are not validated yet.", next_step(cycle))
        case _:
            return complete(project, cycle)


# -- plan -------------------------------------------------------------------------------------


def _end_plan(project: Project, cycle: Cycle) -> CycleStep | Deny:
    spec = spec_of(project, cycle)
    try:
        data = (project.root / cycle.plan).read_bytes()
    except OSError:
        lines = "\n\n".join(EXAMPLE.replace("SCENARIO-ID", one.id) for one in spec.scenarios)
        return Deny("cycle-plan", f"There is no plan at {cycle.plan}.", f"write it in these lines:\n{lines}")
    faults = lint_plan(data.decode("utf-8", "replace"), [one.id for one in spec.scenarios])
    if faults:
        first, more = faults[0], f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
        lint = f"`tdd spec lint {cycle.spec_path} --plan {cycle.plan}` lists all"
        return Deny("cycle-plan", f"{cycle.plan}:{first.line}: {first.what}{more}.", f"{first.fix}; {lint}")
    changed = difference(project, cycle.tree, project.workspace.snapshot()).protected
    if changed:
        why = f"{changed[0]} changed while the plan was made, and a planner writes the plan alone."
        return Deny("cycle-plan", why, f"put {changed[0]} back, then `tdd cycle advance`")
    subject = f"docs(plan): what the tests of {spec.id} assert"
    made = commit_stage(project, cycle, load_cycle(project.root), subject, (), own=(cycle.plan,))
    record_move(
        project,
        CycleAdvanced,
        cycle.id,
        stage=Stage.RED,
        tree=project.workspace.snapshot(),
        workers=workers_since(project, cycle, lambda path: path == cycle.plan),
        commit=made,
        plan_hash=normalized_digest(data),
    )
    return report_step(project, f"the plan of {spec.id} is complete; stage red")


# -- red --------------------------------------------------------------------------------------


def _end_red(project: Project, cycle: Cycle, progress: Progress | None) -> CycleStep | Deny:
    spec = spec_of(project, cycle)
    seen = observe_reds(project, cycle, spec, progress)
    if isinstance(seen, Deny):
        return seen
    with operation(project) as state:
        edits = find_unclaimed(project, state.ground or seen.tree, seen.tree, limit=1)
        losses = find_losses(project, state, seen.tree).blocking
    if edits:
        return deny_source(cycle, f"{edits[0].path}:{edits[0].line} ({edits[0].why})")
    if losses:
        # Else the freeze's claim would be refused later, when nobody may write tests any more.
        way = give_up_losses(losses, then="tdd cycle advance")
        return Deny("weakened", "\n  ".join(("The suite lost something:", *losses)), way)
    faults = (*seen.changed, *map(str, seen.faults))
    if faults:
        more = "".join(f"\n  {fault}" for fault in faults[1:20])
        return Deny("cycle-red", f"{faults[0]}{more}", "mend that, then `tdd cycle advance`")
    changed = [c.path for c in project.workspace.changes(cycle.tree, seen.tree) if is_test(project, c.path)]
    workers = workers_since(project, cycle, lambda path: is_test(project, path), changed)
    record_move(project, CycleAdvanced, cycle.id, stage=Stage.VALIDATE, tree=seen.tree, workers=workers)
    asked = len(spec.scenarios)
    scenarios = f"all {asked} scenarios" if asked > 1 else "the one scenario"
    tests = count_of(len(seen.test_ids), "test")
    return report_step(project, f"{tests} red by assertion, for {scenarios}; stage validate")


@verb("cycle freeze")
def freeze(project: Project, cycle: Cycle) -> CycleStep | Deny:
    """Pins spec, tests and commit, and opens the coder's turn on them."""
    return deny_misplaced(project, cycle) or _freeze(project, cycle)


def _freeze(project: Project, cycle: Cycle) -> CycleStep | Deny:
    if denial := _deny_freezing(project, cycle):
        return denial
    tests = tuple(sorted(_validated_tests(project, cycle)))
    subject = f"test: the scenarios of {cycle.spec_id}"
    trailers = (("TDD-Verdict", PASS), *(("TDD-Test", test) for test in tests))
    made = commit_stage(project, cycle, load_cycle(project.root), subject, trailers)
    digest, tree = spec_of(project, cycle).digest, project.workspace.snapshot()
    record_move(project, CycleFrozen, cycle.id, spec_hash=digest, tree=tree, commit=made, tests=tests)
    return _open_turn(project, f"frozen: {count_of(len(tests), 'test')} at {made[:12]}; stage green")


def _deny_freezing(project: Project, cycle: Cycle) -> Deny | None:
    if cycle.stage is not Stage.VALIDATE or cycle.verdict != PASS:
        why = f"Tests are frozen after a PASS, and there is none (stage {cycle.stage})."
        return Deny("cycle-freeze", why, next_step(cycle))
    if cycle.judged != project.workspace.snapshot():
        why = "The tree changed since the tests were validated."
        return Deny("cycle-freeze", why, "put it back, or `tdd cycle validate` again")
    reds = {red.test_id for red in project.state().valid_reds}
    if gone := _validated_tests(project, cycle) - reds:
        why = f"{min(gone)} was validated, and is not red any more."
        return Deny("cycle-freeze", why, "`tdd cycle validate` runs the tests again")
    for validator in cycle.workers.get(Stage.VALIDATE, ()):
        if same := deny_same(cycle, validator):
            return same
    return None


def _validated_tests(project: Project, cycle: Cycle) -> frozenset[str]:
    """Returns the tests that were validated, from the validation's record."""
    data = project.workspace.blob_bytes(cycle.record)
    return frozenset(json.loads(data or b"{}").get("tests", ()))


def _open_turn(project: Project, said: str) -> CycleStep | Deny:
    with operation(project) as state:
        cycle = state.open_cycle
        assert cycle is not None  # noqa: S101 - the caller holds it
        left = [test for test in cycle.tests if test not in cycle.green]
        claimed = claim_within(project, state, left, (ALL_SOURCE,))
        if isinstance(claimed, Deny):
            return claimed
        for laid in state.aside.values():
            if laid.back_at_claim:
                aside.lay_on(project, laid)
    return report_step(project, said)


@verb("cycle resume")
def resume(project: Project, cycle: Cycle, why: str, progress: Progress | None = None) -> CycleStep | Deny:
    """Goes on after a stop, a kill, or edits that were set aside."""
    if cycle.stopped:
        is_sent_back = cycle.stage is Stage.VALIDATE and cycle.verdict
        back = (back_to_red(project, cycle, why),) if is_sent_back else ()
        resumed = CycleResumed(cycle=cycle.id, at=now_ms(), by=project.actor, why=why)
        project.record(resumed, *back, sync=True)
    return _go_on(project, progress)


def _go_on(project: Project, progress: Progress | None = None) -> CycleStep | Deny:
    state = project.state()
    cycle = state.open_cycle
    assert cycle is not None  # noqa: S101 - no event of a verb that goes on ends it
    if denial := deny_misplaced(project, cycle):
        return denial
    if cycle.stage is not Stage.GREEN or cycle.proven or state.turn is not None:
        return report_step(project, f"cycle {cycle.id} on {cycle.spec_id}; stage {cycle.stage}")
    left = [test for test in cycle.tests if test not in cycle.green]
    run_tests(project, left, cwd=project.root, progress=progress)
    return _open_turn(project, f"the coder's turn is open again; stage {cycle.stage}")


@verb("cycle abort")
def abort(project: Project, cycle: Cycle, why: str) -> CycleStep | Deny:
    """Ends the cycle; the coder's edits are set aside, tests and stubs stay where they are."""
    with operation(project) as state:
        tree = project.workspace.snapshot()
        turn = state.turn
        edited = tuple(c.path for c in difference(project, turn.tree, tree).source) if turn else ()
        if turn is not None and edited:
            intent = LayingAside(
                aside=next_aside(state),
                paths=edited,
                edited=tree,
                start=turn.tree,
                why=f"the cycle {cycle.id} was aborted",
                test_ids=tuple(state.claims),
            )
            project.record(intent, sync=True)
            aside.carry_out(project, intent)
    record_move(project, CycleEnded, cycle.id, outcome=ABORTED, why=why)
    return CycleStep(
        (f"cycle {cycle.id} on {cycle.spec_id} aborted in stage {cycle.stage}",), None, "`tdd status`"
    )


@verb("cycle test-bug")
def rule_on_bug(project: Project, cycle: Cycle, why: str, *, uphold: bool) -> CycleStep | Deny:
    """Rules on a test-bug that the coder reported: the tests are opened again, or the coder goes on."""
    bug = cycle.bug
    if not bug:
        return Deny("no-test-bug", "No test-bug waits for a ruling.", next_step(cycle))
    if project.actor.role == "agent" and project.actor not in cycle.workers.get(Stage.VALIDATE, ()):
        why_not = "A person or the validator rules on a test-bug, not the coder."
        return Deny("persons-verb", why_not, next_step(cycle))
    if uphold:
        with operation(project):
            project.record(back_to_red(project, cycle, f"{bug} upheld: {why}"), sync=True)
        return report_step(project, f"{bug} is upheld: {why}; stage red")
    resumed = CycleResumed(cycle=cycle.id, at=now_ms(), by=project.actor, why=f"{bug} dismissed: {why}")
    with operation(project):
        project.record(TestBugClosed(bug=bug, test_id=""), resumed, sync=True)
    return _go_on(project)
