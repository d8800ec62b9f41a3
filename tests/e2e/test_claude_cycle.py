"""The real Claude Code plays a cycle: a scripted model leads, and dispatches the sub-agents of each stage."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from support.anthropic_model import ToolCall, bash, use
from support.claude_code import installed
from support.cycles import CODE, PLAN, PLAN_PATH, SPEC, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.gated import Place, make_place, reading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from support.anthropic_model import Model, Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

VALIDATE = bash("tdd cycle validate --verdict PASS")
CHANGED = bash("tdd cycle validate --verdict PASS 2>&1 3>nul")
"""The client makes /dev/null of the last word, after the hook."""
ASKED, REFUSED = "Validate your own tests.", "self-validation"
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
    return [text for request in playing.requests for text in _results(request)]


def _results(request: Mapping[str, Any]) -> list[str]:
    content = request["messages"][-1]["content"]
    blocks = content if isinstance(content, list) else []
    return [_text(block["content"]) for block in blocks if block.get("type") == "tool_result"]


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
    held_out = place.write(".tdd/holdout/tests/test_held_out.py", HELD_OUT)
    validated = (agent("tdd-validator"), held_out, VALIDATE, "PASS")
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


def by_shell(path: str, text: str) -> str:
    return f"cat > {path} <<'END'\n{text}END\n"


def resume_author(request: Mapping[str, Any]) -> Step:
    """The same context once more, which is asked to validate its own tests."""
    *_, name = re.findall(r"agentId: (\w+)", json.dumps(request["messages"]))
    return use("SendMessage", to=name, summary="goes on", message=ASKED)


def after_resuming(request: Mapping[str, Any]) -> Step:
    """Leader and author go on side by side: the one waits, the other tries."""
    if "You turn the plan into tests" in json.dumps(request["system"]):
        return VALIDATE if ASKED in json.dumps(request["messages"][-1]) else "not done"
    waited = "waited long" in json.dumps(request["messages"])
    return "I stop" if waited else bash("for i in $(seq 40); do sleep .2; done; echo waited long | cat")


def test_no_tool_leaves_its_stage_and_no_author_validates(place: Place) -> None:
    playing, _ = place.plays(
        bash(f"tdd cycle start {SPEC_PATH}"),
        bash(by_shell("tests/test_x.py", TESTS) + by_shell("calc.py", CODE)),
        place.write(TEST_PATH, TESTS),
        bash(by_shell(PLAN_PATH, PLAN) + "tdd cycle advance"),
        agent("tdd-test-author"),
        bash(by_shell("calc.py", CODE) + f"echo >> {SPEC_PATH}"),
        reading(place, SPEC_PATH),
        place.write(SPEC_PATH, "x"),
        bash(by_shell("calc.py", STUB) + by_shell(TEST_PATH, TESTS) + "tdd cycle advance"),
        VALIDATE,
        CHANGED,
        "handed in",
        bash(f"rm {TEST_PATH}; echo x >> calc.py; true"),
        resume_author,
        *([after_resuming] * 12),
    )
    results = given(playing)
    source, wrong_stage, _, both, _, spec, handed_in, validated, *_ = results[1:]
    assert "Put back: tests/test_x.py." in source
    assert "Put back: calc.py. calc.py: The plan is being made" in source
    assert f"next: write the plan to {PLAN_PATH}, then `tdd cycle advance`" in source
    assert "denied [cycle-plan]" in wrong_stage
    assert f"Put back: {SPEC_PATH}. " in both
    assert "source waits until the tests of SPEC-001 are validated and frozen" in both
    assert "denied [cycle-spec]" in spec
    assert "stage validate" in handed_in
    assert "denied [self-validation]" in validated
    assert "denied [unknown-context]" in results[9]
    removed = results[11]
    assert "The tests are being validated" in removed
    assert "from claim to verdict" not in removed, "that is another stage's"
    assert place.read(TEST_PATH) == TESTS
    assert place.read("calc.py") == STUB
    refused = [event["actor"]["context"] for event in place.events("denied") if event["rule"] == REFUSED]
    (author,) = place.cli.ok("cycle", "status", "--json").json["cycle"]["workers"]["red"]
    assert [f"claude/agent/{context}" for context in refused] == [author, author], "also when it is resumed"
    assert "the cycle c1 on SPEC-001 stands in stage validate" in playing.told()
