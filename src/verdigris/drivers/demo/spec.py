"""The cycle's part of the demo: a spec of two scenarios with recorded answers and fresh verdicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verdigris.core.errors import UserError
from verdigris.core.settings import REPLAY
from verdigris.drivers.cycle.roles import TEAM
from verdigris.drivers.cycle.run import Run
from verdigris.drivers.cycle.stage_play import open_run
from verdigris.drivers.demo.play import lay_out
from verdigris.drivers.happenings import RunEnded
from verdigris.setup.initialisation import initialise
from verdigris.storage.project import CONFIG, open_project

if TYPE_CHECKING:
    from verdigris.core.records import Actor
    from verdigris.drivers.happenings import Watcher

SPEC = Path(__file__).with_name("shipping.md")
TALK = Path(__file__).with_name("shipping.jsonl")
PATH = "specs/shipping.md"


def build(root: Path, actor: Actor, watch: Watcher) -> RunEnded:
    """In a new folder; what happens is told to `watch`, that it is a replay among it."""
    prepare(root, actor)
    with open_run(open_project(root, actor), watch) as opened:
        ended = Run(opened).make(PATH, cwd=root)
    if not isinstance(ended, RunEnded):
        raise UserError(ended.reason, hint=ended.next)
    return ended


def prepare(root: Path, actor: Actor, more: str = "", *, model: str = f"{REPLAY}{TALK}") -> None:
    """`more`: of its tdd.yaml."""
    python = f"{{root: ., language: python, runner: unittest, python: {json.dumps(sys.executable)}}}"
    roles = "".join(f"  {role}: {{model: {json.dumps(model)}}}\n" for role in TEAM.names)
    config = f"stacks:\n  - {python}\nroles:\n{roles}{more}"
    lay_out(
        {PATH: SPEC.read_text("utf-8"), CONFIG: config, ".gitignore": "__pycache__/\n"}, root, "docs: a spec"
    )
    initialise(root, actor)
