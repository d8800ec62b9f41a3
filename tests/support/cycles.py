"""A project with an active spec, at any stage of a cycle on it: real git, real pytest, no command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from support.gitrepo import GitRepo, copied
from support.pages import project_files
from support.turns import CALC, make_live_world, make_world
from verdigris.core.actions import Deny
from verdigris.core.records import Actor
from verdigris.drivers.cycle.frame import CycleStep
from verdigris.drivers.cycle.stages import advance, freeze, start
from verdigris.drivers.cycle.validation.judgement import GivenVerdict, validate
from verdigris.storage.project import Project, open_project
from verdigris.turns.settle import settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verdigris.core.state import Cycle, WorktreeState

SMALLER, LARGER = (
    "SPEC-001#subtract/a-smaller-number-is-taken-away",
    "SPEC-001#subtract/a-larger-number-is-taken-away",
)
STUB = CALC + "\n\ndef sub(a, b):\n    return 0  # STUB:TDD\n"
CODE = CALC + "\n\ndef sub(a, b):\n    return a - b\n"
SPEC_PATH, PLAN_PATH, TEST_PATH = "specs/subtract.md", ".tdd/plans/spec-001.md", "tests/test_sub.py"
SPEC, PLAN, TESTS = (project_files("cycle")[path] for path in (SPEC_PATH, PLAN_PATH, TEST_PATH))
PLANNER, AUTHOR, VALIDATOR, CODER = (
    Actor("person", name, "test") for name in ("planner", "author", "validator", "coder")
)


@dataclass(frozen=True, slots=True)
class CycleWorld:
    repo: GitRepo

    @property
    def root(self) -> Path:
        return self.repo.root

    def project(self, actor: Actor = AUTHOR) -> Project:
        return replace(open_project(self.root, actor))

    @property
    def state(self) -> WorktreeState:
        return self.project().state()

    @property
    def cycle(self) -> Cycle:
        cycle = self.state.cycle
        assert cycle is not None
        return cycle

    def write(self, path: str, text: str) -> None:
        self.repo.write(path, text)

    def start(self, spec: str = SPEC_PATH) -> CycleStep | Deny:
        return start(self.project(PLANNER), spec, cwd=self.root)

    def advance(self, actor: Actor = AUTHOR) -> CycleStep | Deny:
        return advance(self.project(actor))

    def validate(self, judged: GivenVerdict | None = None, actor: Actor = VALIDATOR) -> CycleStep | Deny:
        return validate(self.project(actor), judged)

    def freeze(self, actor: Actor = VALIDATOR) -> CycleStep | Deny:
        return freeze(self.project(actor))

    def to_plan(self) -> None:
        done(self.start())

    def to_red(self) -> None:
        self.write(PLAN_PATH, PLAN)
        done(self.advance(PLANNER))

    def to_validate(self) -> None:
        self.write("calc.py", STUB)
        self.write(TEST_PATH, TESTS)
        done(self.advance())

    def to_green(self) -> None:
        done(self.validate())
        done(self.freeze())

    def to_proven(self) -> None:
        self.write("calc.py", CODE)
        settled = settle(self.project(CODER))
        assert not isinstance(settled, Deny), settled
        assert settled.verdict.accepted, settled.verdict


def done(answer: CycleStep | Deny) -> CycleStep:
    assert isinstance(answer, CycleStep), answer
    return answer


def denied(answer: object, rule: str) -> Deny:
    assert isinstance(answer, Deny), answer
    assert answer.rule == rule, answer
    return answer


def make_cycle(root: Path, stage: str = "entry", config: str = "", *, live: bool = False) -> CycleWorld:
    """A project at the start of a stage; `proven`: the code was accepted."""
    key = ("cycle", stage, config, live)
    return CycleWorld(copied(root, lambda place: _make(place, stage, config, live=live), *key))


_STAGES = ("entry", "plan", "red", "validate", "green", "proven")


def _make(root: Path, stage: str, config: str, *, live: bool) -> None:
    """Each project is made from the one before it, so that every step is made once."""
    if stage == "entry":
        (make_live_world if live else make_world)(root, config, **{SPEC_PATH: SPEC})
        return
    world = make_cycle(root, _STAGES[_STAGES.index(stage) - 1], config, live=live)
    steps: dict[str, Callable[[], None]] = {
        "plan": world.to_plan,
        "red": world.to_red,
        "validate": world.to_validate,
        "green": world.to_green,
        "proven": world.to_proven,
    }
    steps[stage]()
