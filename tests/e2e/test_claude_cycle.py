"""The real Claude Code plays a cycle: a scripted model leads, and dispatches the sub-agents of each stage."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from support.anthropic_model import ToolCall, bash, use
from support.claude_code import installed
from support.cycles import CODE, PLAN, PLAN_PATH, SPEC, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.gated import Place, make_place, reading

if TYPE_CHECKING:
    from pathlib import Path

    from support.anthropic_model import Model, Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

HELD_OUT = """\
import calc


def test_equal():
    assert calc.sub(4, 4) == 0
    assert calc.sub(9, 4) == 5
"""


@pytest.fixture(scope="session")
def program() -> Path:
    return installed()


@pytest.fixture
def place(tmp_path: Path, program: Path) -> Place:
    made = make_place(tmp_path / "repo")
    made.cli.repo.write(SPEC_PATH, SPEC.replace("active", "draft"))
    made.cli.ok("init", "--yes", "--agent", "claude", "--cycle")
    made.cli.ok("spec", "activate", SPEC_PATH)
    made.cli.repo.commit("with the cycle")
    return replace(made, claude=replace(made.claude, seconds=280))


def agent(kind: str) -> ToolCall:
    """Dispatches a sub-agent; what follows in the script is its own until it ends with words."""
    return use("Agent", description="a stage", prompt="go", subagent_type=kind, run_in_background=False)


def given(playing: Model) -> list[str]:
    """Every tool result, of the session and of its sub-agents, in order."""
    found = []
    for request in playing.requests:
        content = request["messages"][-1]["content"]
        blocks = content if isinstance(content, list) else []
        found += [_text(block["content"]) for block in blocks if block.get("type") == "tool_result"]
    return found


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def make_plan(place: Place) -> tuple[Step, ...]:
    start = bash(f"tdd cycle start {SPEC_PATH}")
    return (start, agent("tdd-planner"), place.write(PLAN_PATH, PLAN), "planned", bash("tdd cycle advance"))


def write_tests(place: Place, *more: Step) -> tuple[Step, ...]:
    stub = place.write("calc.py", STUB)
    tests = (reading(place, "calc.py"), stub, place.write(TEST_PATH, TESTS), bash("tdd test"))
    return (agent("tdd-test-author"), *tests, bash("tdd cycle advance"), *more, "handed in")


def write_code(place: Place) -> tuple[Step, ...]:
    return (
        agent("tdd-coder"),
        reading(place, "calc.py"),
        place.write("calc.py", CODE),
        bash("tdd settle"),
        "x",
    )


def test_a_cycle_from_spec_to_evidence(place: Place) -> None:
    judged = bash("tdd cycle validate --verdict PASS")
    held_out = place.write(".tdd/holdout/tests/test_held_out.py", HELD_OUT)
    validated = (agent("tdd-validator"), held_out, judged, "PASS")
    playing, ran = place.plays(
        *make_plan(place),
        *write_tests(place),
        *validated,
        bash("tdd cycle freeze"),
        *write_code(place),
        bash("tdd cycle advance"),
        "the cycle is done",
        prompt=f"/tdd {SPEC_PATH}",
    )
    results = given(playing)
    assert f"The cycle on {SPEC_PATH}" in playing.told(), "the skill"
    assert "ACTIVATE SPEC-001 EVID-001" in results[-1]
    assert place.cli.ok("cycle", "verify", "EVID-001").out.startswith("● EVID-001 holds")
    workers = place.cli.ok("cycle", "status", "--json").json["cycle"]["workers"]
    contexts = {stage: who for stage, (who,) in workers.items()}
    assert len(set(contexts.values())) == 4
    assert not any(ran.result["session_id"] in who for who in contexts.values())
