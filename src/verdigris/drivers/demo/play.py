"""Plays the demo: a scripted agent tries to break each law, and each turn ends in an acceptance.

The agent has no rules. It acts, and the kernel's answers are shown.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Deny
from verdigris.core.errors import HarnessError, ToolMissing, UserError
from verdigris.core.records import Actor
from verdigris.core.roles import names_of
from verdigris.core.settings import REPLAY, MachineSettings
from verdigris.core.test_ids import shell_words
from verdigris.core.value import value
from verdigris.core.verdict import Kind, first_line
from verdigris.core.verdict.redness import VALID, WHY_NOT, judge_collect_error
from verdigris.drivers.cycle.run import CycleRun
from verdigris.drivers.cycle.stage_play import open_run
from verdigris.drivers.demo import DemoStage, Scene, edit
from verdigris.drivers.happenings import RunEnded, Watcher
from verdigris.drivers.machine.open_machine import open_machine
from verdigris.drivers.machine.run import MachineRun
from verdigris.execution.tools.registry import program
from verdigris.languages.registry import language_named
from verdigris.setup.initialisation import initialise
from verdigris.storage.git import ask_users_git
from verdigris.storage.project import CONFIG, Project, open_project
from verdigris.turns.claim import claim
from verdigris.turns.settle import settle
from verdigris.turns.test import run_tests
from verdigris.turns.write import write

if TYPE_CHECKING:
    from verdigris.languages.starter import Cheat, PlainTool, RequiredTool, Script


@value
class Agent:
    project: Project
    stage: DemoStage

    def writes(self, path: str, text: str, wish: str) -> None:
        self.stage.show(Scene("wish", f"{wish}: {path}"))
        before = (self.project.root / path).read_text("utf-8")
        self.stage.show(edit(before, text))
        answer = write(self.project, {path: text.encode()}, cwd=self.project.root)
        if isinstance(answer, Deny):
            self._show_denial(answer)

    def tests(self, test_id: str) -> bool:
        """Whether it is red for the right reason."""
        self._show_command("test", test_id)
        tested = run_tests(self.project, [test_id], cwd=self.project.root)
        for run in tested.tests:
            self.stage.show(_red_scene(run.failure, run.red) if run.red else Scene("quiet", "it passes"))
        for error in tested.report.errors if tested.report else ():
            failure = f"{error.kind}: {first_line(error.message)}"
            self.stage.show(_red_scene(failure, judge_collect_error(error)))
        return any(run.red == VALID for run in tested.tests)

    def claims(self, test_id: str, path: str, *, as_before: bool = False) -> None:
        """`as_before`: the command was shown already."""
        if not as_before:
            self._show_command("claim", test_id, path)
        answer = claim(self.project, [test_id], [path], cwd=self.project.root)
        if isinstance(answer, Deny):
            self._show_denial(answer)
        else:
            freed = f"claimed: {path} may be edited now, and the tests are frozen"
            self.stage.show(Scene("quiet", freed))

    def settles(self) -> Kind | None:
        """Settles; returns the verdict, or None if it was denied."""
        self._show_command("settle")
        settlement = settle(self.project)
        if isinstance(settlement, Deny):
            self._show_denial(settlement)
            return None
        verdict = settlement.verdict
        if verdict.accepted:
            self.stage.show(Scene("accepted", f"accepted: {', '.join(settlement.accepted)}"))
        else:
            code = self._line_named(verdict.reasons[0]) if verdict.kind is Kind.HOLLOW else ()
            self.stage.show(Scene("rejected", f"{verdict.kind}", code, verdict.reasons[:1]))
        return verdict.kind

    def _line_named(self, reason: str) -> tuple[str, ...]:
        """The line of a test, in a reason that begins with FILE:LINE."""
        if not (place := re.match(r"(.+?):(\d+):", reason)):
            return ()
        lines = (self.project.root / place[1]).read_text("utf-8").splitlines()
        return (lines[int(place[2]) - 1].strip(),)

    def tests_plainly(self, tool: PlainTool) -> None:
        """Runs the test tool in the folder, as without Verdigris."""
        ran = subprocess.run(
            tool.argv, cwd=self.project.root, capture_output=True, text=True, check=False, timeout=60
        )
        colour = "green" if ran.returncode == 0 else "red"
        output = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip("-= \t")]
        self.stage.show(Scene("plain", f"plain {tool.name} says {colour}: {' '.join(output[-1:])}"))

    def _show_command(self, *words: str) -> None:
        self.stage.show(Scene("command", shell_words("tdd", *words)))

    def _show_denial(self, denial: Deny) -> None:
        self.stage.show(Scene("denied", f"denied [{denial.rule}]", more=(denial.reason,)))


def _red_scene(failure: str, red: str) -> Scene:
    if red == VALID:
        return Scene("red", f"red for the right reason: {failure}")
    why, following = WHY_NOT.get(red, (red, ""))
    more = tuple(filter(None, (failure, why)))
    return Scene("wrong-red", "red, but not for the right reason", more=more, next=following)


_HOLLOW = "Verdigris made the test wrong, and it still passed: it proves nothing."


def script_of(language: str) -> Script:
    """The demo's script in a language; raises ToolMissing if its tool is missing or does not start."""
    starter = language_named(language).project.starter()
    if starter is None:
        raise HarnessError(f"there is no play in {language}")
    script = starter.script()
    if script.needs is not None:
        require(script.needs)
    return script


def prepare(script: Script, folder: Path | None = None) -> Project:
    """A repository with a calculator that can only add, under the law."""
    root = folder or Path(tempfile.mkdtemp(prefix="tdd-demo-"))
    lay_out(script.files, root, "a calculator that can only add")
    initialise(root, Actor(role="person", client="demo"))
    return open_project(root, Actor(role="agent", context="demo", client="demo"))


def play(script: Script, project: Project, stage: DemoStage) -> None:
    """Plays the script; the repository stays for a person to look at."""
    agent = Agent(project, stage)
    about = f"{script.source} can add. An agent is asked for subtraction."
    stage.show(Scene("act", "Red first", more=(about,)))
    _meet_red_first(script, agent)
    stage.show(Scene("act", "Frozen until the verdict"))
    _meet_the_verdict(script, agent)
    if script.cheat is not None:
        stage.show(Scene("act", "Asked for multiplication, the agent cheats"))
        _cheat(script.cheat, script, agent)


def _meet_red_first(script: Script, agent: Agent) -> None:
    agent.writes(script.source, script.eager, "It starts with the code")
    agent.writes(script.tests, script.easy, "It writes a test that proves nothing new")
    agent.tests(script.nothing_new)
    agent.claims(script.nothing_new, script.source)


def _meet_the_verdict(script: Script, agent: Agent) -> None:
    source, tests = script.source, script.tests
    agent.writes(tests, script.real, "It writes a test for what is missing")
    if not agent.tests(script.asked) and script.stub is not None:
        agent.writes(source, script.stub, "It declares what the test names, and no more")
        agent.tests(script.asked)
    agent.claims(script.asked, source)
    agent.writes(tests, script.weaker, "It would rather have an easier test")
    agent.writes(source, script.careless, "It writes the code, and breaks addition on the way")
    agent.settles()
    agent.writes(source, script.good, "It mends that")
    agent.settles()


def _cheat(cheat: Cheat, script: Script, agent: Agent) -> None:
    agent.writes(script.tests, cheat.tests, "It writes the test, as it has learnt")
    agent.tests(cheat.asked)
    agent.claims(cheat.asked, script.source, as_before=True)
    agent.writes(script.source, cheat.hollow, "It answers with an object that equals everything")
    agent.tests_plainly(cheat.plain)
    if agent.settles() is Kind.HOLLOW:
        agent.stage.show(Scene("moral", _HOLLOW))
    agent.writes(script.source, cheat.honest, "It multiplies after all")
    agent.settles()


_SETTINGS = {
    "user.name": "demo",
    "user.email": "demo@example.invalid",
    "commit.gpgsign": "false",
    "core.hooksPath": ".git/hooks",
}


def lay_out(files: Mapping[str, str], root: Path, subject: str) -> None:
    """The files in a new folder, in one commit."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    ask_users_git(root, "init", "--quiet", "--initial-branch=main")
    for name, setting in _SETTINGS.items():
        ask_users_git(root, "config", name, setting)
    ask_users_git(root, "add", "--all")
    ask_users_git(root, "commit", "--quiet", "--message", subject)


_PATIENCE = 20.0


def require(needed: RequiredTool) -> None:
    found = program(needed.name, os.environ, needed.missing)
    env = {**os.environ, "RUSTUP_AUTO_INSTALL": "0"}
    try:
        ran = subprocess.run(
            [found, needed.version], env=env, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    else:
        if ran.returncode == 0:
            return
        why = first_line((ran.stderr or ran.stdout).strip()) or f"it ends with {ran.returncode}"
    raise ToolMissing(
        f"`{needed.name}` is on PATH, but `{needed.name} {needed.version}` fails: {why}", hint=needed.broken
    )


IN_PLACE = "machine: {sandbox: false}\n"
"""A section of tdd.yaml: the machine works in the folder itself."""
KATA = Path(__file__).with_name("leap_year.md")
KATA_TALK = Path(__file__).with_name("leap_year.jsonl")
KATA_STEPS = 6
"""Steps of the recorded run: tester, implementor and refactorer for each rule."""


def build_kata(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """Builds it in a new folder; tells `watch` what happens, and that it is a replay."""
    prepare_kata(root, actor, IN_PLACE)
    with open_machine(root, watch) as machine:
        return MachineRun(machine, lambda _: None).make(KATA_STEPS)


def prepare_kata(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{KATA_TALK}") -> None:
    """`more`: of its tdd.yaml."""
    files = {MachineSettings().kata: KATA.read_text("utf-8")}
    _initialise(root, actor, files, _roles(names_of("machine"), model) + more, "chore: a kata")


SPEC = Path(__file__).with_name("shipping.md")
SPEC_TALK = Path(__file__).with_name("shipping.jsonl")
SPEC_PATH = "specs/shipping.md"


def build_spec(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """Builds it in a new folder; tells `watch` what happens, and that it is a replay."""
    prepare_spec(root, actor)
    with open_run(open_project(root, actor), watch) as opened:
        ended = CycleRun(opened).make(SPEC_PATH, cwd=root)
    if not isinstance(ended, RunEnded):
        raise UserError(ended.reason, hint=ended.next)
    return ended


def prepare_spec(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{SPEC_TALK}") -> None:
    """`more`: of its tdd.yaml."""
    files = {SPEC_PATH: SPEC.read_text("utf-8")}
    _initialise(root, actor, files, _roles(names_of("cycle"), model) + more, "docs: a spec")


def _roles(names: Iterable[str], model: str) -> str:
    return "roles:\n" + "".join(f"  {role}: {{model: {json.dumps(model)}}}\n" for role in names)


def _initialise(root: Path, actor: Actor, files: dict[str, str], sections: str, subject: str) -> None:
    python = f"{{root: ., language: python, runner: unittest, python: {json.dumps(sys.executable)}}}"
    config = f"stacks:\n  - {python}\n{sections}"
    lay_out({**files, CONFIG: config, ".gitignore": "__pycache__/\n"}, root, subject)
    initialise(root, actor)
