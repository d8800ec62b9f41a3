"""The recorded parts of the demo: a kata for the machine and a spec for the cycle; the verdicts are fresh."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.settings import REPLAY, MachineSettings
from verdigris.drivers.cycle.roles import TEAM as CYCLE_TEAM
from verdigris.drivers.cycle.run import CycleRun
from verdigris.drivers.cycle.stage_play import open_run
from verdigris.drivers.demo.play import lay_out
from verdigris.drivers.happenings import RunEnded
from verdigris.drivers.machine.open_machine import open_machine
from verdigris.drivers.machine.roles import TEAM
from verdigris.drivers.machine.run import MachineRun
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import CONFIG, open_project

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdigris.core.records import Actor
    from verdigris.drivers.happenings import Watcher


IN_PLACE = "machine: {sandbox: false}\n"
"""Of a tdd.yaml: the machine works in the folder itself."""
KATA = Path(__file__).with_name("leap_year.md")
KATA_TALK = Path(__file__).with_name("leap_year.jsonl")
KATA_STEPS = 6
"""Of the recorded run: tester, implementor and refactorer for each rule."""


def build_kata(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """In a new folder; what happens is told to `watch`, that it is a replay among it."""
    prepare_kata(root, actor, IN_PLACE)
    with open_machine(root, watch) as machine:
        return MachineRun(machine, lambda _: None).make(KATA_STEPS)


def prepare_kata(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{KATA_TALK}") -> None:
    """`more`: of its tdd.yaml."""
    files = {MachineSettings().kata: KATA.read_text("utf-8")}
    _initialise(root, actor, files, _roles(TEAM.names, model) + more, "chore: a kata")


SPEC = Path(__file__).with_name("shipping.md")
SPEC_TALK = Path(__file__).with_name("shipping.jsonl")
SPEC_PATH = "specs/shipping.md"


def build_spec(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """In a new folder; what happens is told to `watch`, that it is a replay among it."""
    prepare_spec(root, actor)
    with open_run(open_project(root, actor), watch) as opened:
        ended = CycleRun(opened).make(SPEC_PATH, cwd=root)
    if not isinstance(ended, RunEnded):
        raise UserError(ended.reason, hint=ended.next)
    return ended


def prepare_spec(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{SPEC_TALK}") -> None:
    """`more`: of its tdd.yaml."""
    files = {SPEC_PATH: SPEC.read_text("utf-8")}
    _initialise(root, actor, files, _roles(CYCLE_TEAM.names, model) + more, "docs: a spec")


def _roles(names: Iterable[str], model: str) -> str:
    return "roles:\n" + "".join(f"  {role}: {{model: {json.dumps(model)}}}\n" for role in names)


def _initialise(root: Path, actor: Actor, files: dict[str, str], sections: str, subject: str) -> None:
    python = f"{{root: ., language: python, runner: unittest, python: {json.dumps(sys.executable)}}}"
    config = f"stacks:\n  - {python}\n{sections}"
    lay_out({**files, CONFIG: config, ".gitignore": "__pycache__/\n"}, root, subject)
    initialise(root, actor)
