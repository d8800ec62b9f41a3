"""A recorded run on a real kata, which shows the machine without a model; its verdicts are fresh."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.languages import DEFAULT_LANGUAGE
from verdigris.core.settings import REPLAY
from verdigris.drivers.demo.play import IN_PLACE
from verdigris.drivers.machine.open_machine import open_machine
from verdigris.drivers.machine.run import MachineRun
from verdigris.models.roles.teams import MACHINE
from verdigris.setup.scaffold import plan_scaffold
from verdigris.setup.scaffold_files import make
from verdigris.storage.git import ask_users_git
from verdigris.storage.project import CONFIG

if TYPE_CHECKING:
    from verdigris.core.records import Actor
    from verdigris.drivers.happenings import RunEnded, Watcher

KATA = Path(__file__).with_name("string_calculator.md")
TALK = Path(__file__).with_name("string_calculator.jsonl")
STEPS = 30
"""Steps of the recorded run; in the next one the tester finds the kata done."""


def replay(root: Path, actor: Actor, watch: Watcher, steps: int = 6) -> RunEnded:
    """Play it in a new folder; `watch` gets the happenings, among them that it is a replay."""
    prepare(root, actor, IN_PLACE)
    with open_machine(root, watch) as machine:
        return MachineRun(machine, lambda _: None).make(steps)


def prepare(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{TALK}") -> None:
    """A new project for the kata, scaffolded and committed. `more`: further text of its tdd.yaml."""
    root.mkdir(parents=True, exist_ok=True)
    _repository(root)
    python = f"{{root: ., language: python, runner: pytest, python: {json.dumps(sys.executable)}}}"
    roles = "".join(f"  {role}: {{model: {json.dumps(model)}}}\n" for role in MACHINE.names)
    (root / CONFIG).write_text(f"stacks:\n  - {python}\nroles:\n{roles}{more}", "utf-8")
    scaffold = plan_scaffold(root, DEFAULT_LANGUAGE, str(KATA))
    if scaffold is not None:
        make(scaffold, actor)


def _repository(root: Path) -> None:
    """Make a repository that asks for no passphrase and runs none of the user's hooks."""
    ask_users_git(root, "init", "--quiet", "--initial-branch=main")
    ask_users_git(root, "config", "commit.gpgsign", "false")
    ask_users_git(root, "config", "core.hooksPath", ".git/hooks")
