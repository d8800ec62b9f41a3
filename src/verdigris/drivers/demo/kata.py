"""The machine's part of the demo: a kata of two rules with recorded answers and fresh verdicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.settings import REPLAY, MachineSettings
from verdigris.drivers.demo.play import lay_out
from verdigris.drivers.machine.opening import open_machine
from verdigris.drivers.machine.recorded import IN_PLACE
from verdigris.drivers.machine.roles import TEAM
from verdigris.drivers.machine.run import Run
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import CONFIG

if TYPE_CHECKING:
    from verdigris.core.records import Actor
    from verdigris.drivers.happenings import RunEnded, Watcher

KATA = Path(__file__).with_name("leap_year.md")
TALK = Path(__file__).with_name("leap_year.jsonl")
STEPS = 6
"""Of the recorded run: tester, implementor and refactorer for each rule."""


def build(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """In a new folder; what happens is told to `watch`, that it is a replay among it."""
    prepare(root, actor, IN_PLACE)
    with open_machine(root, watch) as machine:
        return Run(machine, lambda _: None).make(STEPS)


def prepare(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{TALK}") -> None:
    """`more`: of its tdd.yaml."""
    python = f"{{root: ., language: python, runner: unittest, python: {json.dumps(sys.executable)}}}"
    roles = "".join(f"  {role}: {{model: {json.dumps(model)}}}\n" for role in TEAM.names)
    config = f"stacks:\n  - {python}\nroles:\n{roles}{more}"
    files = {MachineSettings().kata: KATA.read_text("utf-8"), CONFIG: config, ".gitignore": "__pycache__/\n"}
    lay_out(files, root, "chore: a kata")
    initialise(root, actor)
