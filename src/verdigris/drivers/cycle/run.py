"""`tdd cycle run`: lets the model or person of each stage work; every step is one of the kernel's verbs."""

from __future__ import annotations

import re
from pathlib import Path

from verdigris.core.actions import Deny
from verdigris.core.policy.cycle import next_step
from verdigris.core.state import PASS, Cycle, Stage
from verdigris.drivers.budget import as_tokens
from verdigris.drivers.commits import changed_paths
from verdigris.drivers.cycle.frame import CycleStep, deny_misplaced
from verdigris.drivers.cycle.stage_play import ROLE_OF, VALIDATOR, OpenRun, play_stage, set_back, step_of
from verdigris.drivers.cycle.stages import advance, freeze, resume, start
from verdigris.drivers.cycle.validation.judgement import validate
from verdigris.drivers.edits import quote_reds
from verdigris.drivers.happenings import CycleBegan, Noted, RunEnded, StepBegan, StepEnded, Told
from verdigris.drivers.play import REPLAY, RunEnd, play_out
from verdigris.drivers.specs.spec import read_spec
from verdigris.models.protocol import Usage
from verdigris.models.roles.teams import CYCLE
from verdigris.storage.git import git
from verdigris.storage.paths import canonical
from verdigris.turns.operation import operation

DONE, STOPPED, REFUSED, WAITING, BUDGET = "cycle-done", "stopped", "refused", "waiting", "budget-used-up"
_NOBODY = "the kernel's checks"


class CycleRun:
    def __init__(self, open_: OpenRun) -> None:
        self._open, self._project, self._watch = open_, open_.project, open_.watch
        self._steps = 0
        self._first_commit = ""
        self._cost = Usage()

    def make(self, spelling: str, *, cwd: Path) -> RunEnded | Deny:
        """Takes the cycle on that spec from wherever it is to its end, or to a stop with the next move."""
        with operation(self._project):
            pass  # finishes what a kill left half done
        begun = self._begin(spelling, cwd)
        if isinstance(begun, Deny):
            return begun
        again = "`tdd cycle run` takes it up again"
        return self._tell_end(begun or play_out(self._play, RunEnd(BUDGET, next=again)))

    def _begin(self, spelling: str, cwd: Path) -> RunEnd | Deny | None:
        state = self._project.state()
        path = canonical(self._project.root, spelling, cwd=cwd).path
        last = state.cycle
        if last is not None and not last.open and last.spec_path == path and self._is_as_proven(last):
            again = f"`tdd cycle start {last.spec_path}` begins another cycle on it"
            return RunEnd(DONE, f"{last.spec_id} is implemented: {last.evidence}", again)
        resumed = last is not None and last.open and last.spec_path == path
        if not resumed:
            started = start(self._project, spelling, cwd=cwd)
            if isinstance(started, Deny):
                return started
        self._tell_beginning(resumed=resumed)
        return None

    def _is_as_proven(self, cycle: Cycle) -> bool:
        try:
            data = (self._project.root / cycle.spec_path).read_bytes()
        except OSError:
            return False
        return read_spec(cycle.spec_path, data).digest == cycle.frozen_hash

    # -- one stage ----------------------------------------------------------------------------

    def _play(self) -> RunEnd | None:
        """Plays the open stage; returns the end of the run, if it ends."""
        state = self._project.state()
        cycle = state.cycle
        if cycle is None or not cycle.open:
            return RunEnd(DONE, "", "review the code, then activate what the line ACTIVATE names")
        if cycle.stopped:
            return RunEnd(STOPPED, cycle.stopped, f"{next_step(cycle)}; then `tdd cycle run` goes on")
        if denial := deny_misplaced(self._project, cycle):
            return _end_if_refused(denial)
        step = step_of(self._project, cycle)
        role = ROLE_OF[cycle.stage]
        project = self._open.project_for(role, cycle, step)
        human = self._open.settings.player(role.name).human
        match cycle.stage:
            case Stage.VALIDATE if cycle.verdict == PASS:
                # Not as the validator, who has no part in the coder's turn that this opens.
                return self._tell_verb(freeze(self._project))
            case Stage.GREEN if cycle.proven:
                done = advance(project)
                return self._tell_stage(cycle, step, done) or self._tell_verb(done)
            case Stage.GREEN if not human:
                set_back(project, cycle, "the run was interrupted")
            case Stage.VALIDATE if not self._open.settings.player(role.name).model:
                self._watch(StepBegan(step, VALIDATOR.name, _NOBODY, 1))
                return self._tell_stage(cycle, step, validate(project))
        if cycle.stage is Stage.GREEN and project.state().turn is None:
            opened = resume(project, "")
            if isinstance(opened, Deny):
                return _end_if_refused(opened)
        if human:
            following = next_step(cycle, turn=self._project.state().turn is not None)
            return RunEnd(WAITING, f"the {role} is a person", f"{following}; then `tdd cycle run` goes on")
        done, self._cost = play_stage(self._open, project, cycle, step)
        is_stopped = isinstance(done, CycleStep) and done.cycle is not None and bool(done.cycle.stopped)
        if cycle.stage is Stage.GREEN and not is_stopped:
            return _end_if_refused(done)  # accepted code is told with its commit
        return self._tell_stage(cycle, step, done)

    # -- what is told -------------------------------------------------------------------------

    def _tell_beginning(self, *, resumed: bool) -> None:
        project, settings = self._project, self._open.settings
        cycle = project.state().open_cycle
        assert cycle is not None  # noqa: S101 - it was started, or is open
        self._first_commit = cycle.commit
        roles = tuple((name, settings.player(name).model or _NOBODY) for name in CYCLE.names)
        replay = bool(self._open.role_models.recordings)
        self._watch(
            CycleBegan(
                cycle.id,
                cycle.spec_id,
                cycle.spec_path,
                str(cycle.stage),
                resumed,
                str(project.root),
                cycle.on,
                roles,
                replay,
            )
        )
        if replay:
            self._watch(Noted(REPLAY))

    def _tell_verb(self, done: CycleStep | Deny) -> RunEnd | None:
        if isinstance(done, CycleStep):
            self._watch(Told(done.said))
        return _end_if_refused(done)

    def _tell_stage(self, cycle: Cycle, step: int, done: CycleStep | Deny) -> RunEnd | None:
        """Tells how a stage ended, and returns the end of the run if it was refused.

        `cycle`: as the stage began.
        """
        if isinstance(done, Deny):
            return _end_if_refused(done)
        self._steps += 1
        project, after = self._project, done.cycle
        made = after.commits.get(cycle.stage, "") if after is not None else ""
        made = made if made != cycle.commits.get(cycle.stage, "") else ""
        verdict = _verdict_in(done) or ("stopped" if after is not None and after.stopped else "handed-in")
        why = "; ".join(done.said[1:] if _verdict_in(done) else done.said) or "no finding"
        authored = cycle.stage is Stage.RED and after is not None and not after.stopped
        self._watch(
            StepEnded(
                step,
                ROLE_OF[cycle.stage].name,
                "committed" if made else verdict,
                "" if made else why,
                made,
                git(project.root, "log", "-1", "--format=%s", made).out.strip() if made else "",
                {Stage.PLAN: "planned", Stage.GREEN: "accepted"}.get(cycle.stage, _verdict_in(done)),
                tests=quote_reds(project, project.state().valid_reds) if authored else (),
                diff=self._difference(cycle),
                **as_tokens(self._cost),
            )
        )
        self._cost = Usage()
        return None

    def _difference(self, cycle: Cycle) -> str:
        """Returns the diff of tests and source in the stage; plan and evidence are pages to read whole."""
        if cycle.stage not in {Stage.RED, Stage.GREEN}:
            return ""
        workspace = self._project.workspace
        start = cycle.frozen if cycle.stage is Stage.GREEN else cycle.tree
        tree = workspace.snapshot()
        paths = changed_paths(self._project, start, tree)
        return workspace.diff(start, tree, paths) if paths else ""

    def _tell_end(self, ended: RunEnd) -> RunEnded:
        since = f"{self._first_commit}..HEAD" if self._first_commit else "HEAD..HEAD"
        commits = git(self._project.root, "log", "--reverse", "--format=%H", since).out.split()
        return self._open.tell_end(
            RunEnded(ended.outcome, ended.why, self._steps, tuple(commits), following=ended.next)
        )


def _end_if_refused(done: CycleStep | Deny) -> RunEnd | None:
    return RunEnd(REFUSED, done.reason, done.next) if isinstance(done, Deny) else None


def _verdict_in(done: CycleStep) -> str:
    """Returns the verdict of a validation, which the state forgets when the tests are sent back."""
    found = re.match(r"validation: (\w+)", done.said[0])
    return found[1] if found else ""
