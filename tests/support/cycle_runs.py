"""Scripted models that play a cycle, from a recording or over a socket."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.cycles import CODE, PLAN, PLAN_PATH, SPEC, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.gitrepo import GitRepo, copied
from support.machines import edit, recording
from support.turns import make_world
from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.drivers.cycle.run import Run
from verdigris.drivers.cycle.stage_play import open_run
from verdigris.storage.project import Project, open_project

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from support.openai_server import Request, Step
    from verdigris.core.state import Cycle
    from verdigris.drivers.happenings import Happening, RunEnded

TALK = "talk.jsonl"
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
class PlayedCycle:
    repo: GitRepo
    happenings: list[Happening] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def project(self) -> Project:
        return open_project(self.root, Actor())

    @property
    def cycle(self) -> Cycle:
        found = self.project.state().cycle
        assert found is not None
        return found

    def plays(self, **changed: Sequence[str]) -> None:
        """The honest answers, except at these places (`step_2_test_author=[…]`)."""
        places = dict(HONEST)
        for name, answers in changed.items():
            _, step, role = name.split("_", 2)
            places[f"step-{step}-{role}"] = answers
        self.repo.write(TALK, recording(places))

    def run(self, spec: str = SPEC_PATH) -> RunEnded:
        done = self.try_to_run(spec)
        assert not isinstance(done, Deny), done
        return done

    def try_to_run(self, spec: str = SPEC_PATH) -> RunEnded | Deny:
        with open_run(self.project, self.happenings.append) as opened:
            return Run(opened).make(spec, cwd=self.root)

    def subjects(self) -> list[str]:
        return self.repo.git("log", "--reverse", "--format=%s").splitlines()[1:]

    def of(self, kind: type[Any]) -> list[Any]:
        return [happening for happening in self.happenings if isinstance(happening, kind)]

    @property
    def at_rest(self) -> bool:
        return self.repo.git("status", "--porcelain") == "" and self.project.log.verify().whole


def make_played(root: Path, config: str = "", *, roles: str = "") -> PlayedCycle:
    """A calculator that adds, with an active spec; all roles are played from the recording."""
    world = PlayedCycle(copied(root, lambda place: _make(place, config, roles), "cycle", config, roles))
    world.plays()
    return world


def models(*names: str, model: str = f"replay:{TALK}") -> str:
    return "".join(f"  {name}: {{model: '{model}'}}\n" for name in names or ROLES)


def _make(root: Path, config: str, roles: str) -> None:
    world = make_world(root, f"roles:\n{roles or models()}{config}", **{SPEC_PATH: SPEC})
    world.write(".git/info/exclude", f"{TALK}\n")


def honest(request: Request) -> Step:
    """As a server's script."""
    found = re.search(r"You are the (\w+), in step (\d+)\.", request.text)
    assert found
    return {"planner": PLANNED, "test_author": RED, "validator": PASSED, "coder": CODED}[found[1]]
