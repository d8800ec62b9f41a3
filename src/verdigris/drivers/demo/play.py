"""Plays the demo: the agent tries to break each law, and each turn ends in an acceptance."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import HarnessError, ToolMissing
from verdigris.core.records import Actor
from verdigris.core.verdict import Kind, first_line
from verdigris.drivers.demo.agent import Agent
from verdigris.drivers.demo.scenes import Act, Moral
from verdigris.execution.tools.lookup import program
from verdigris.languages.registry import language_named
from verdigris.setup.initialisation import initialise
from verdigris.storage.git import ask_users_git
from verdigris.storage.project import open_project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verdigris.drivers.demo.scenes import Stage
    from verdigris.languages.starter import Cheat, Program, Script
    from verdigris.storage.project import Project


_HOLLOW = "Verdigris made the test wrong, and it still passed: it proves nothing."


def script_of(language: str) -> Script:
    """Where its tool is missing or does not start, a ToolMissing says what to do."""
    starter = language_named(language).starter()
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


def play(script: Script, project: Project, stage: Stage) -> None:
    """The repository it leaves is whole and can be looked at."""
    agent = Agent(project, stage)
    stage.show(Act("An agent meets the law", "calc.py can add. The agent is asked for subtraction."))
    _meet_the_law(script, agent)
    if script.cheat is not None:
        stage.show(Act("An agent cheats", "Now it is asked for multiplication, and wants a green soon."))
        _cheat(script.cheat, script, agent)


def _meet_the_law(script: Script, agent: Agent) -> None:
    source, tests = script.source, script.tests
    agent.writes(source, script.eager, "It starts with the code.")
    agent.writes(tests, script.easy, "It writes a test that proves nothing new.")
    agent.tests(script.nothing_new)
    agent.claims(script.nothing_new, source)
    agent.writes(tests, script.real, "It writes a test for what is missing.")
    agent.tests(script.asked)
    if script.stub is not None:
        agent.writes(source, script.stub, "It declares what the test names, and no more.")
        agent.tests(script.asked)
    agent.claims(script.asked, source)
    agent.writes(tests, script.weaker, "It would rather have an easier test.")
    agent.writes(source, script.careless, "It writes the code, and breaks addition on the way.")
    agent.settles()
    agent.writes(source, script.good, "It mends that.")
    agent.settles()


def _cheat(cheat: Cheat, script: Script, agent: Agent) -> None:
    agent.writes(script.tests, cheat.tests, "It writes the test, as it has learnt.")
    agent.tests(cheat.asked)
    agent.claims(cheat.asked, script.source)
    agent.writes(script.source, cheat.hollow, "Then it answers with an object that equals everything.")
    agent.tests_plainly(cheat.plain)
    if agent.settles() is Kind.HOLLOW:
        agent.stage.show(Moral(_HOLLOW))
    agent.writes(script.source, cheat.honest, "It multiplies after all.")
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


def require(needed: Program) -> None:
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
