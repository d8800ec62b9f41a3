"""The play, once for all languages: each law is tried, and the turn ends in an acceptance."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.actions import Actor
from verdigris.core.errors import ToolMissing
from verdigris.drivers.demo import go, node, python, rust
from verdigris.drivers.demo.agent import Agent
from verdigris.kernel.project import open_project
from verdigris.kernel.setup import initialise

if TYPE_CHECKING:
    from verdigris.drivers.demo.agent import Stage
    from verdigris.drivers.demo.script import Script
    from verdigris.kernel.project import Project

SCRIPTS = {"python": python.script, "node": node.script, "rust": rust.script, "go": go.script}
"""By language; where its tool is missing, to ask for one is a ToolMissing."""


def prepare(script: Script, folder: Path | None = None) -> Project:
    """A repository with a calculator that can only add, under the law."""
    root = folder or Path(tempfile.mkdtemp(prefix="tdd-demo-"))
    _lay_out(script, root)
    initialise(root, Actor(role="person", client="demo"))
    return open_project(root, Actor(role="agent", context="demo", client="demo"))


def play(script: Script, project: Project, stage: Stage) -> None:
    """The repository it leaves is whole and can be looked at."""
    agent = Agent(project, stage)
    source, tests = script.source, script.tests
    agent.writes(source, script.eager, "it wants subtraction, and starts with the code")
    agent.writes(tests, script.easy, "it writes a test that proves nothing new")
    agent.tests(script.nothing_new)
    agent.claims(script.nothing_new, source)
    agent.writes(tests, script.real, "it writes a test for what is missing")
    agent.tests(script.asked)
    if script.stub is not None:
        agent.writes(source, script.stub, "it declares what the test names, and no more")
        agent.tests(script.asked)
    agent.claims(script.asked, source)
    agent.writes(tests, script.weaker, "it would rather have an easier test")
    agent.writes(source, script.careless, "it edits the source, and breaks something else")
    agent.settles()
    agent.writes(source, script.good, "it mends that")
    agent.settles()


def _lay_out(script: Script, root: Path) -> None:
    for path, text in script.files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    _git(root, "init", "-q", "-b", "main")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "a calculator that can only add")


def _git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false"]
    try:
        subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)
    except FileNotFoundError:
        raise ToolMissing("git is not on PATH.", hint="install git") from None
