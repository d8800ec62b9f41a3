"""A run of the machine: makes steps until they are made, the kata is done, or a step stops the run."""

from __future__ import annotations

from verdigris.core.errors import UserError
from verdigris.core.events import MachineEnded, MachineStarted, StepBegun, StepPassed, StepStopped
from verdigris.drivers.budget import as_tokens
from verdigris.drivers.commits import list_uncommitted
from verdigris.drivers.edits import quote_reds
from verdigris.drivers.happenings import Noted, RunBegan, RunEnded, StepBegan, StepEnded
from verdigris.drivers.judges.implementor import open_reds
from verdigris.drivers.judges.refactorer import find_untested_lines, why_unmeasured
from verdigris.drivers.machine import history
from verdigris.drivers.machine.commit import StepCommit, cycle_steps, forward, hindrance, squash_cycle
from verdigris.drivers.machine.history import (
    CODER,
    NOTHING_RED,
    NOTHING_TO_DO,
    SENT_BACK,
    TESTER,
    UPHELD,
    Position,
    position,
)
from verdigris.drivers.machine.open_machine import Machine
from verdigris.drivers.machine.person import WAITING, HumanStep, Person
from verdigris.drivers.machine.step import Outcome, notes_for, play_step, unshown_points
from verdigris.drivers.play import REPLAY, Exhausted, RunEnd, play_out, prove_end
from verdigris.drivers.private_worktree import ancestor, ref
from verdigris.models.protocol import Usage
from verdigris.models.roles.answer import Say
from verdigris.models.roles.check import RoleStop
from verdigris.models.roles.prompt import told_kata
from verdigris.models.roles.teams import MACHINE
from verdigris.storage.durable_files import TDD_FOLDER
from verdigris.storage.repository import head
from verdigris.turns.aside import lay_back
from verdigris.turns.completion import begin_session
from verdigris.turns.git import committed_tree
from verdigris.turns.operation import operation
from verdigris.turns.test_bug import close_bug, report_bug

STEPS, DONE, BLOCKED, BUDGET = "steps-made", "kata-done", "blocked", "budget-used-up"
AGAIN = "`tdd run` takes it up again"


def where(machine: Machine) -> Position:
    made = history.machine_commits(machine.project.root)
    return position(made, machine.project.state().machine.passed)


class MachineRun:
    def __init__(self, machine: Machine, person: Person) -> None:
        self._machine, self._person = machine, person
        self._commits: list[str] = []
        self._steps = 0
        self._unforwarded = ""
        self._cost = Usage()
        self._done = False

    def make(self, steps: int | None) -> RunEnded:
        """Makes so many steps; continues an interrupted run unless another number is given."""
        with operation(self._machine.project):
            pass  # finishes first what a killed process left half done
        self._squash()
        self._follow()
        now = where(self._machine)
        known = self._machine.project.state().machine
        wanted = steps or self._machine.settings.steps
        open_ = known.last - known.first + 1 if known.last else 0
        resumed = open_ == wanted or (steps is None and open_ > 1)
        first, last = (known.first, known.last) if resumed else (now.step, now.step + wanted - 1)
        if not resumed:
            self._machine.project.record(MachineStarted(first=first, last=last), sync=True)
        begin_session(self._machine.project, self._session)
        self._tell_beginning(first, last, resumed=resumed)

        def turn() -> RunEnd | None:
            now = where(self._machine)
            return self._step(now) if now.step <= last else RunEnd(STEPS)

        return self._report_end(play_out(turn, RunEnd(BUDGET)))

    @property
    def _session(self) -> str:
        """The name under which the start of the run is recorded."""
        return f"machine-{self._machine.project.state().machine.runs}"

    # -- one step -----------------------------------------------------------------------------

    def _step(self, now: Position) -> RunEnd | None:
        """Makes the step; returns a result if it ends the run."""
        machine, player = self._machine, self._machine.settings.player(now.role.name)
        self._begin(now)
        shown = player.model if player.human else machine.role_models.model(now.role.name, now.step).name
        machine.watch(StepBegan(now.step, now.role.name, shown, machine.settings.attempts))
        if self._nothing_red(now):
            self._record_passed(now, NOTHING_RED, "every test passes already")
            return None
        notes = tuple(notes_for(now, machine))
        before = machine.meter.usage
        if player.human:
            taken = HumanStep(machine, now, self._person, notes).take()
            if isinstance(taken, RunEnd):
                return taken
        else:
            taken = play_step(machine, now, notes)
        self._steps += 1
        self._cost = machine.meter.usage.since(before)
        return self._conclude(now, taken)

    def _nothing_red(self, now: Position) -> bool:
        """Whether no test is red any more, and no accepted edit waits to be committed."""
        if now.role is not CODER:
            return False
        state = self._machine.project.state()
        begun = state.machine.step is not None and state.machine.step.verdict
        return (
            not begun and not state.claims and not open_reds(self._machine.project_for(now.role), now.tests)
        )

    def _begin(self, now: Position) -> None:
        """Begins on the tree of HEAD; a step that was begun before goes on from its own start."""
        machine, state = self._machine, self._machine.project.state()
        commit = head(machine.project.repo).commit or ""
        open_ = state.machine.step
        if open_ is not None and (open_.step, open_.role, open_.commit) == (now.step, now.role.name, commit):
            return
        if open_ is not None:
            lay_back(machine.project, machine.project.workspace.snapshot(), "another step is on")
        human = machine.settings.player(now.role.name).human
        uncommitted = (path for _, path in list_uncommitted(machine.project.root))
        changed = [path for path in uncommitted if not path.startswith(f"{TDD_FOLDER}/")]
        if changed and not human:
            if not machine.is_sandboxed:
                raise UserError(
                    f"the tree has changes that are not committed: {changed[0]}",
                    hint="commit or stash them; or `sandbox: true`: the machine works in a tree of its own",
                )
            lay_back(machine.project, committed_tree(machine.project), "it belonged to no step")
        tree = committed_tree(machine.project) if human else machine.project.workspace.snapshot()
        machine.project.record(
            StepBegun(step=now.step, role=now.role.name, commit=commit, tree=tree), sync=True
        )

    # -- how it ends --------------------------------------------------------------------------

    def _conclude(self, now: Position, taken: Outcome) -> RunEnd | None:
        match taken:
            case StepCommit():
                self._commits.append(taken.commit)
                self._machine.watch(self._describe_commit(now, taken))
                if now.role is TESTER and now.finding:
                    self._close_bugs(now)
            case RoleStop(say=Say.NOTHING_TO_DO):
                self._record_passed(now, NOTHING_TO_DO, taken.reason)
            case RoleStop(say=Say.TEST_IS_RIGHT):
                self._close_bugs(now)
                why = f"The tester looked at the test again and says that it is right: {taken.reason}"
                self._record_passed(now, UPHELD, f"{why}\n{now.finding}")
            case RoleStop(say=Say.TEST_IS_WRONG) | Exhausted() if now.role is CODER and not now.returned:
                self._send_back(now, taken)
            case RoleStop():
                return self._record_stop(now, taken.say.value, taken.reason)
            case Exhausted():
                return self._record_stop(now, BLOCKED, taken.why)
        self._squash()
        self._follow()
        return None

    def _describe_commit(self, now: Position, taken: StepCommit) -> StepEnded:
        project = self._machine.project
        reds = project.state().valid_reds if now.role is TESTER else ()
        tests = quote_reds(project, [red for red in reds if red.tree == taken.after])
        paths = [change.path for change in project.workspace.changes(taken.before, taken.after)]
        return StepEnded(
            now.step,
            now.role.name,
            "committed",
            "",
            taken.commit,
            taken.subject,
            taken.verdict,
            taken.concerns,
            tests,
            project.workspace.diff(taken.before, taken.after, paths) if paths else "",
            **as_tokens(self._cost),
        )

    def _close_bugs(self, now: Position) -> None:
        """Closes reports about the test, which the tester has revised or kept."""
        project = self._machine.project_for(now.role)
        for bug in tuple(project.state().test_bugs):
            close_bug(project, bug)

    def _record_passed(self, now: Position, outcome: str, why: str) -> None:
        passed = StepPassed(step=now.step, role=now.role.name, outcome=outcome, why=why, after=now.after)
        self._record_end(now, passed)

    def _send_back(self, now: Position, taken: RoleStop | Exhausted) -> None:
        """Reports a test-bug, which stays open until a revised test is red."""
        project = self._machine.project_for(now.role)
        if isinstance(taken, RoleStop):
            why = f"The implementor says that the test is wrong: {taken.reason}"
        else:
            reasons = "\n".join(f"{number}. {reason}" for number, reason in enumerate(taken.reasons, 1))
            why = f"The implementor failed {len(taken.reasons)} times:\n{reasons}"
        wrong = [red.native_id for red in open_reds(project, now.tests)]
        if wrong:
            report_bug(project, list(dict.fromkeys(wrong)), why, cwd=project.root)
        self._record_passed(now, SENT_BACK, why)

    def _record_stop(self, now: Position, outcome: str, why: str) -> RunEnd:
        self._record_end(now, StepStopped(step=now.step, role=now.role.name, outcome=outcome, why=why))
        self._done = outcome == DONE
        return RunEnd(outcome, why)

    def _record_end(self, now: Position, ended: StepPassed | StepStopped) -> None:
        self._machine.project.record(ended, sync=True)
        tokens = as_tokens(self._cost)
        self._machine.watch(StepEnded(now.step, now.role.name, ended.outcome, ended.why, **tokens))

    def _squash(self) -> None:
        squashes = self._machine.settings.squash == "cycle"
        if squashes and (why := squash_cycle(self._machine, where(self._machine))) is not None:
            self._machine.watch(Noted(why))

    def _follow(self) -> None:
        """Lets the user's branch follow; notes each reason why it cannot once."""
        machine = self._machine
        if not machine.is_sandboxed or (machine.settings.squash == "cycle" and cycle_steps(machine)):
            return
        ours = head(machine.project.repo).branch or ""
        why = forward(machine.home, machine.branch, ref(ours))
        if why is not None and why != self._unforwarded:
            apart = not ancestor(machine.home.root, ref(machine.branch), ref(ours))
            move = f"`git rebase {ours}` puts yours on top" if apart else f"`git merge --ff-only {ours}`"
            there = f"the commits are on {ours}: {move}"
            machine.watch(Noted(f"{machine.branch} stays where it is: {why}; {there}"))
        self._unforwarded = why or ""

    # -- happenings -------------------------------------------------------------------------

    def _tell_beginning(self, first: int, last: int, *, resumed: bool) -> None:
        machine = self._machine
        roles = tuple((role.name, machine.settings.player(role.name).model) for role in MACHINE.roles)
        replay = bool(machine.role_models.recordings)
        machine.watch(
            RunBegan(first, last, resumed, str(machine.project.root), machine.branch, roles, replay)
        )
        if replay:
            machine.watch(Noted(REPLAY))
        if machine.is_sandboxed and (why := hindrance(machine.home, machine.branch, "HEAD")):
            machine.watch(
                Noted(f"{machine.branch} will not follow: {why}; the machine builds on what is committed")
            )
        if told_kata(kata := machine.kata(), machine.settings.prompt_tokens) != kata.strip():
            machine.watch(
                Noted("the kata is too long for a prompt and is cut: raise `machine: {prompt_tokens: …}`")
            )
        if machine.settings.coverage_guard and (why := why_unmeasured(machine.project)):
            machine.watch(Noted(why))

    def _report_end(self, ended: RunEnd) -> RunEnded:
        project, finished = self._machine.project, ended.outcome == DONE
        if finished or ended.outcome == STEPS:
            ended = prove_end(ended, project, self._session, finished=finished, following=_PUT_BACK)
        if ended.outcome not in {BUDGET, WAITING}:
            project.record(MachineEnded(outcome=ended.outcome, why=ended.why), sync=True)
        return self._machine.tell_end(
            RunEnded(
                ended.outcome,
                ended.why,
                self._steps,
                tuple(self._commits),
                following=ended.next or _FOLLOWING.get(ended.outcome, _DECIDE),
                points=unshown_points(self._machine.kata(), where(self._machine).points),
                lines=find_untested_lines(project) if self._done else (),
            )
        )


_FOLLOWING = {
    STEPS: "`tdd run` goes on from here",
    DONE: "read what was made; a longer kata gives the tester more to ask for",
    BLOCKED: "read .tdd/logs; change the kata, the test or the model, then `tdd run`",
    BUDGET: AGAIN,
    WAITING: "do your part, then `tdd run` or `tdd step`",
}
_DECIDE = "decide what is right, change the kata or the test, then `tdd run`"
_PUT_BACK = "put back what is lost; only a person gives a test up: `tdd revise`; then `tdd run`"
