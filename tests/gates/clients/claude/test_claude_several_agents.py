"""Several agents of Claude Code in one worktree: sessions and subagents, their calls interleaved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.hooks import Client
from support.turns import CALC, SUB, SUB_ID, TEST_SUB, World
from verdigris.core.events import EditClaim, Violation
from verdigris.core.records import Actor
from verdigris.core.state import Phase
from verdigris.storage.project import Project, open_project
from verdigris.turns.claim import claim
from verdigris.turns.claim_check import Claimed, following_move
from verdigris.turns.test import run_tests

if TYPE_CHECKING:
    from typing import Any

MUL_TEST = "import calc\n\n\ndef test_mul():\n    assert calc.mul(5, 3) == 15\n"
MUL_ID = "tests/test_mul.py::test_mul"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"


class Agent(Client):
    @property
    def project(self) -> Project:
        return open_project(self.world.root, Actor("agent", self.agent or self.session, "claude"))

    def test(self, test_id: str) -> None:
        run_tests(self.project, [test_id], cwd=self.world.root)

    def shell(self, path: str, text: str) -> str:
        """A shell call that writes a file; what the model is told."""
        self.before("Bash", command=f"write {path}")
        self.world.write(path, text)
        return self.after("Bash", command=f"write {path}")

    def write(self, path: str, text: str) -> str:
        decided = self.before("Write", file_path=path, content=text)
        if decided == "pass":
            self.world.write(path, text)
            self.after("Write", file_path=path, content=text)
        return decided


@pytest.fixture
def both(world: World) -> tuple[Agent, Agent]:
    """Two sessions at work, each with a red of its own."""
    a, b = Agent(world, "a"), Agent(world, "b")
    for agent, path, text in ((a, "tests/test_sub.py", TEST_SUB), (b, "tests/test_mul.py", MUL_TEST)):
        agent.say("UserPromptSubmit", prompt="go")
        assert agent.write(path, text) == "pass"
    a.test(SUB_ID)
    b.test(MUL_ID)
    return a, b


def claims(world: World) -> dict[str, Any]:
    return {name: (claim.by, claim.targets) for name, claim in world.state.claims.items()}


def test_nobody_is_sent_to_anothers_red(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    a.test(SUB_ID)
    assert following_move(a.project, world.state) == f"`tdd claim {SUB_ID}`"
    b.test(MUL_ID)
    assert following_move(b.project, world.state) == f"`tdd claim {MUL_ID}`"
    told = a.say("UserPromptSubmit", prompt="more")["hookSpecificOutput"]["additionalContext"]
    assert MUL_ID not in told
    run_tests(a.project, [], cwd=world.root)
    assert world.state.reds[MUL_ID].by == "b", "a run of the whole suite takes nobody's red"


def test_an_edit_claims_ones_own_red_although_another_agent_has_one(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, _ = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert claims(world) == {SUB_ID: ("a", ("calc.py",))}


def test_when_an_agent_has_stopped_its_reds_are_everybodys(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    b.say("Stop")
    b.say("Stop", stop_hook_active=True)
    a.test(SUB_ID)
    assert a.before("Write", file_path="calc.py", content=CALC + SUB) == "which-red"


def test_a_file_tool_does_not_write_into_anothers_turn(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert b.before("Write", file_path="calc.py", content=CALC + MUL) == "others-claim"
    assert b.before("Write", file_path="more.py", content="X = 1\n") == "others-claim"
    assert a.write("calc.py", CALC + SUB + "\n") == "pass"
    assert a.write("more.py", "X = 1\n") == "pass"
    assert claims(world) == {SUB_ID: ("a", ("calc.py", "more.py"))}


@pytest.mark.parametrize("path", ["calc.py", "more.py"])
def test_a_shell_does_not_either_and_its_agent_is_told(
    world: World, both: tuple[Agent, Agent], path: str
) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    told = b.shell(path, CALC + SUB + MUL)
    assert f"Put back: {path}" in told
    assert "another agent" in told
    assert world.read("calc.py") == CALC + SUB, "as the other agent had it"
    assert not (world.root / "more.py").exists()
    assert [event.by for event in world.events(Violation) if isinstance(event, Violation)] == [("b",)]
    assert a.shell("calc.py", CALC + SUB + "\n\nX = 1\n") == ""
    assert not [e for e in world.events(EditClaim) if isinstance(e, EditClaim) and e.edit_target == "more.py"]


def test_one_may_join_the_turn_with_a_claim_of_ones_own(world: World, both: tuple[Agent, Agent]) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    assert isinstance(claim(b.project, [MUL_ID], ["mul.py"], cwd=world.root), Claimed)
    assert b.write("mul.py", "X = 1\n") == "pass"
    assert b.write("calc.py", CALC + MUL) == "others-claim"
    assert b.shell("new.py", "X = 1\n") == ""
    assert claims(world) == {SUB_ID: ("a", ("calc.py",)), MUL_ID: ("b", ("mul.py", "new.py"))}


def test_a_session_goes_on_with_the_turn_of_one_that_has_stopped(
    world: World, both: tuple[Agent, Agent]
) -> None:
    a, b = both
    assert a.write("calc.py", CALC + SUB) == "pass"
    a.say("Stop")
    assert world.state.phase is Phase.RED, "its stop settled it"
    b.test(MUL_ID)
    assert b.write("calc.py", CALC + SUB + MUL) == "pass"
    assert claims(world) == {MUL_ID: ("b", ("calc.py",))}
