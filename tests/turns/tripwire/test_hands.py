"""Random interleavings of two agents' calls: nothing is lost unsaid, taken early, or accepted for another."""

from __future__ import annotations

import re
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.hands import Agent, Call
from support.turns import World, make_world
from verdigris.core.errors import OthersCallOpen
from verdigris.core.events import Accepted, EditClaim, Settled, TestRun, Violation, decode
from verdigris.core.report import RunEnd, RunPhase, Status, TestReport, TestResult
from verdigris.storage.calls.callers import note_session
from verdigris.turns import settle as settling
from verdigris.turns.candidate_run import Trial
from verdigris.turns.claim import claim
from verdigris.turns.operation import operation
from verdigris.turns.settle import settle

if TYPE_CHECKING:
    from verdigris.core.state import WorktreeState
    from verdigris.storage.project import Project

NAMES = ("a", "b")
TOKEN = re.compile(r"^(?:[ab])(?:\d+) = 1$", re.MULTILINE)
ACTIONS = (
    *("open", "close", "shell_own", "shell_others", "shell_test"),
    *("tool_own", "tool_others", "tool_test", "red", "claim", "settle", "stop"),
)
STEPS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(ACTIONS)), max_size=20)


def id_of(name: str) -> str:
    return f"tests/test_{name}.py::test_{name}"


def run_of(project: Project, name: str, tree: str, status: Status) -> TestRun:
    return TestRun(
        test_id=id_of(name),
        test_id_source="native",
        status=status,
        command="pytest",
        duration_ms=1,
        tree=tree,
        native_id=id_of(name),
        red="valid" if status is Status.FAIL else None,
        by=project.context,
    )


def try_by_reading(project: Project, state: WorktreeState, tree: str, *_: object, owe: bool) -> Trial:
    """Instead of a run: a claimed test passes where its module says so."""
    results, seqs = [], {}
    for native in state.claims:
        name = native[-1]
        done = b"DONE = True" in (project.workspace.read(tree, f"{name}.py") or b"")
        status = Status.PASS if done else Status.FAIL
        (record,) = project.record(run_of(project, name, tree, status))
        seqs[native] = record.seq
        results.append(TestResult(native, native, "native", status, RunPhase.CALL, 1))
    return Trial(tree, TestReport("pytest", RunEnd.FINISHED, 0, 1, tuple(results)), seqs=seqs)


class Hands:
    def __init__(self, root: Path) -> None:
        modules = {f"{name}.py": "DONE = False\n" for name in NAMES}
        self.world: World = make_world(root, **modules)
        self.agents = {name: Agent(self.world, name) for name in NAMES}
        self.calls: dict[str, Call] = {}
        self.told: dict[str, str] = dict.fromkeys(NAMES, "")
        self.written: dict[str, tuple[str, str, int]] = {}
        """Token → its author, its path, and how much the author had been told before."""
        self.numbers = count(1)
        for action in ("tool_test", "red"):
            for name in NAMES:
                self.step(name, action)

    # -- what agents do ----------------------------------------------------------------------

    def open(self, name: str) -> None:
        if name not in self.calls:
            self.calls[name] = Call(self.world, name)
            self.told[name] += self.calls[name].before.text

    def close(self, name: str) -> None:
        if name in self.calls:
            self.told[name] += self.calls.pop(name).end().text

    def shell(self, name: str, path: str) -> None:
        """A write within an open shell call, which nobody looks at."""
        if name in self.calls:
            self.world.write(path, self._text(name, path))

    def tool(self, name: str, path: str) -> None:
        agent, text = self.agents[name], self._text(name, path, wanted=True)
        if agent.before("Write", file_path=path, content=text) != "pass":
            token = TOKEN.findall(text)[-1]
            del self.written[token]
            return
        self.world.write(path, text)
        self.told[name] += agent.after("Write", file_path=path, content=text)

    def red(self, name: str) -> None:
        """What `tdd test` records, without a run."""
        project = self.agents[name].project
        if not (self.world.root / f"tests/test_{name}.py").exists():
            return
        with operation(project) as state:
            if id_of(name) not in state.claims:
                project.record(run_of(project, name, project.workspace.snapshot(), Status.FAIL))

    def claim(self, name: str) -> None:
        claim(self.agents[name].project, [id_of(name)], [f"{name}.py"], cwd=self.world.root)

    def settle(self, name: str) -> None:
        settle(self.agents[name].project)

    def stop(self, name: str) -> None:
        said = self.agents[name].say("Stop", stop_hook_active=True)
        self.told[name] += str(said)

    def _text(self, name: str, path: str, *, wanted: bool = False) -> str:
        """The file as it is, with a line that nobody else writes."""
        token = f"{name}{next(self.numbers)} = 1"
        self.written[token] = (name, path, len(self.told[name]))
        place = self.world.root / path
        old = place.read_text() if place.exists() else f"def test_{name}():\n    assert False\n"
        return f"{old.replace('DONE = False', 'DONE = True')}{token}\n"

    # -- what holds ----------------------------------------------------------------------------

    def step(self, name: str, action: str) -> None:
        note_session(str(self.agents[name].project.repo.private), name, "")
        before = self.in_tree()
        other = "b" if name == "a" else "a"
        kind, _, which = action.partition("_")
        try:
            if which:
                path = {"own": f"{name}.py", "others": f"{other}.py", "test": f"tests/test_{name}.py"}[which]
                getattr(self, kind)(name, path)
            else:
                getattr(self, kind)(name)
        except OthersCallOpen:
            assert self.calls, "nobody is to be waited for"
        for token in before - self.in_tree():
            author = self.written[token][0]
            assert author == name or author not in self.calls, f"{action} took {token}: its call is open"

    def in_tree(self) -> set[str]:
        files = [*self.world.root.glob("*.py"), *(self.world.root / "tests").glob("*.py")]
        return {token for file in files for token in TOKEN.findall(file.read_text())}

    def check(self) -> None:
        for name in (*self.calls,):
            self.step(name, "close")
        for name in NAMES:
            self.step(name, "open")
            self.step(name, "close")
        self._check_told()
        self._check_accepted()

    def _check_told(self) -> None:
        workspace = self.world.project.workspace
        kept = [v for v in self.world.events(Violation) if isinstance(v, Violation) and v.displaced]
        aside = {path for laid in self.world.state.aside.values() for path in laid.paths}
        for token in self.written.keys() - self.in_tree():
            author, path, heard = self.written[token]
            held = any(token.encode() in (workspace.blob_bytes(v.displaced) or b"") for v in kept)
            assert held or path in aside, f"{token} is nowhere"
            assert path in self.told[author][heard:] or path in aside, f"{author} was not told of {token}"

    def _check_accepted(self) -> None:
        """An accepted line is the claimer's, or of whoever took over what was left, or a concern names it."""
        workspace, by = self.world.project.workspace, dict[str, str]()
        concerns: tuple[str, ...] = ()
        for record in self.world.project.log.records():
            match decode(record.type, record.data):
                case EditClaim(by=who, test_id=claimed) if who:
                    by[claimed] = who
                case Settled() as settled:
                    concerns = settled.concerns
                case Accepted() as done:
                    for path in done.paths:
                        new, old = (workspace.read(tree, path) or b"" for tree in (done.after, done.before))
                        for token in {*TOKEN.findall(new.decode())} - {*TOKEN.findall(old.decode())}:
                            rightly = self.written[token][0] in {by[done.test_id], record.actor["context"]}
                            assert rightly or any(path in concern for concern in concerns), (token, path)


@pytest.fixture(autouse=True)
def _without_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "try_candidate", try_by_reading)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_two_agents_in_one_worktree(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hands = Hands(Path(folder) / "repo")
        for name, action in steps:
            hands.step(name, action)
        hands.check()
