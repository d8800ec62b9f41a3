"""Scripted models that play a cycle, from a recording or over a socket."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.cycles import CODE, PLAN, PLAN_PATH, SPEC_PATH, STUB, TEST_PATH, TESTS, make_cycle
from support.machines import TALK, PlayedRun, edit
from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.drivers.cycle.run import CycleRun
from verdigris.drivers.cycle.stage_play import open_run
from verdigris.storage.project import Project, open_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.openai_server import Request, Step
    from verdigris.core.state import Cycle
    from verdigris.drivers.happenings import RunEnded

PLANNED = edit("docs", "what the tests assert", {PLAN_PATH: PLAN})
RED = edit("test", "both scenarios", {TEST_PATH: TESTS, "calc.py": STUB})
CODED = edit("feat", "subtraction", {"calc.py": CODE})


def judged(verdict: str, *findings: str, files: Mapping[str, str] | None = None) -> str:
    """A validator's answer."""
    said = json.loads(edit("test", "", files or {}))
    return json.dumps({**said, "verdict": verdict, "reason": "I read them.", "findings": findings})


PASSED = judged("PASS")
HONEST: dict[str, Sequence[str]] = {
    "step-1-planner": (PLANNED,),
    "step-2-test_author": (RED,),
    "step-3-validator": (PASSED,),
    "step-4-coder": (CODED,),
}
ROLES = ("planner", "test_author", "validator", "coder")


@dataclass
class PlayedCycle(PlayedRun):
    @property
    def project(self) -> Project:
        return open_project(self.root, Actor())

    @property
    def cycle(self) -> Cycle:
        found = self.project.state().cycle
        assert found is not None
        return found

    def plays(self, **changed: Sequence[str]) -> None:
        self.record(HONEST, changed)

    def run(self, spec: str = SPEC_PATH) -> RunEnded:
        done = self.try_to_run(spec)
        assert not isinstance(done, Deny), done
        return done

    def try_to_run(self, spec: str = SPEC_PATH) -> RunEnded | Deny:
        with open_run(self.project, self.happenings.append) as opened:
            return CycleRun(opened).make(spec, cwd=self.root)

    def subjects(self) -> list[str]:
        return self.repo.git("log", "--reverse", "--format=%s").splitlines()[1:]

    def commits(self) -> list[tuple[str, str]]:
        """Message and files of each commit, without the evidence, which names event numbers and commits."""
        found = []
        for commit in self.repo.git("log", "--reverse", "--format=%H").split():
            files = self.repo.git("ls-tree", "-r", commit).splitlines()
            kept = "\n".join(file for file in files if ".tdd/evidence/" not in file)
            found.append((self.repo.git("log", "-1", "--format=%B", commit), kept))
        return found

    @property
    def at_rest(self) -> bool:
        return self.repo.git("status", "--porcelain") == "" and self.project.log.verify().whole


def make_played(root: Path, stage: str = "entry", config: str = "", *, roles: str = "") -> PlayedCycle:
    """A project at the start of a stage, to which people led it; all roles are played from the recording."""
    world = PlayedCycle(make_cycle(root, stage, f"roles:\n{roles or cast()}{config}").repo)
    world.repo.write(".git/info/exclude", f"{TALK}\n")
    world.plays()
    return world


def cast(model: str = f"replay:{TALK}", **players: str) -> str:
    """One model plays all roles except these; a role without a model is left out."""
    played = {**dict.fromkeys(ROLES, model), **players}
    return "".join(f"  {role}: {{model: '{name}'}}\n" for role, name in played.items() if name)


def honest(request: Request) -> Step:
    """The turns as a server's script."""
    found = re.search(r"You are the (\w+), in step (\d+)\.", request.text)
    assert found
    return {"planner": PLANNED, "test_author": RED, "validator": PASSED, "coder": CODED}[found[1]]
