"""The real Claude Code plays a cycle: a scripted model leads, and dispatches the sub-agents of each stage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from support.anthropic_model import Model, Script, Step, ToolCall, bash, use
from support.cycles import CODE, PLAN, PLAN_PATH, SPEC, SPEC_PATH, STUB, TEST_PATH, TESTS
from support.gated import Place, make_place, reading

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


def make_cycle_place(root: Path) -> Place:
    made = make_place(root)
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


def by_shell(path: str, text: str) -> str:
    return f"cat > {path} <<'END'\n{text}END\n"


def make_plan(place: Place) -> tuple[Step, ...]:
    """Tests and source are reached for first."""
    return (
        bash(f"tdd cycle start {SPEC_PATH}"),
        bash(by_shell("tests/test_x.py", TESTS) + by_shell("calc.py", CODE)),
        place.write(TEST_PATH, TESTS),
        agent("tdd-planner"),
        place.write(PLAN_PATH, PLAN),
        "planned",
        bash("tdd cycle advance"),
    )


def write_tests(place: Place) -> tuple[Step, ...]:
    """Source and spec are reached for first; at last the author, and then the leader, overstep."""
    return (
        agent("tdd-test-author"),
        bash(by_shell("calc.py", CODE) + f"echo >> {SPEC_PATH}"),
        reading(place, SPEC_PATH),
        place.write(SPEC_PATH, "x"),
        bash(by_shell("calc.py", STUB) + by_shell(TEST_PATH, TESTS) + "tdd cycle advance"),
        VALIDATE,
        CHANGED,
        "handed in",
        bash(f"rm {TEST_PATH}; echo x >> calc.py; true"),
    )


def write_code(place: Place) -> tuple[Step, ...]:
    return (
        agent("tdd-coder"),
        reading(place, "calc.py"),
        place.write("calc.py", CODE),
        bash("tdd settle"),
        "x",
    )


def resume_author(request: Mapping[str, Any]) -> Step:
    """The same context once more, which is asked to validate its own tests."""
    *_, name = re.findall(r"agentId: (\w+)", json.dumps(request["messages"]))
    return use("SendMessage", to=name, summary="goes on", message=ASKED)


def after_resuming(*steps: Step) -> list[Script]:
    """Leader and author go on side by side: the one waits, and then takes these steps; the other tries."""
    others = iter((bash("for i in $(seq 40); do sleep .2; done; echo waited long | cat"), *steps))

    def answer(request: Mapping[str, Any]) -> Step:
        if "You turn the plan into tests" in json.dumps(request["system"]):
            return VALIDATE if ASKED in json.dumps(request["messages"][-1]) else "not done"
        return next(others, "the cycle is done")

    return [answer] * 40


@dataclass(frozen=True)
class PlayedCycle:
    """One session, played to its end; what it left behind is only read."""

    place: Place
    playing: Model
    session: str
    tests: str
    """As the validator found them, and the source."""
    source: str


@pytest.fixture(scope="module")
def cycle(tmp_path_factory: pytest.TempPathFactory, program: Path) -> PlayedCycle:
    place = make_cycle_place(tmp_path_factory.mktemp("cycle") / "repo")
    held_out = place.write(".tdd/holdout/tests/test_held_out.py", HELD_OUT)
    keep = bash(f"cp {TEST_PATH} seen_tests.md; cp calc.py seen_source.md")
    rest = after_resuming(
        "I stop",
        keep,
        agent("tdd-validator"),
        held_out,
        VALIDATE,
        "PASS",
        bash("tdd cycle freeze"),
        *write_code(place),
        bash("tdd cycle advance"),
    )
    playing, ran = place.plays(
        *make_plan(place), *write_tests(place), resume_author, *rest, prompt=f"/tdd {SPEC_PATH}"
    )
    seen = place.read("seen_tests.md"), place.read("seen_source.md")
    return PlayedCycle(place, playing, ran.json["session_id"], *seen)


def test_a_cycle_from_spec_to_evidence(cycle: PlayedCycle) -> None:
    place, playing = cycle.place, cycle.playing
    assert f"The cycle on {SPEC_PATH}" in playing.told(), "the skill"
    assert "ACTIVATE SPEC-001 EVID-001" in given(playing)[-1]
    assert place.cli.ok("cycle", "verify", "EVID-001").out.startswith("● EVID-001 holds")
    workers = place.cli.ok("cycle", "status", "--json").json["cycle"]["workers"]
    contexts = {stage: who for stage, (who,) in workers.items()}
    assert len(set(contexts.values())) == 4
    assert not any(cycle.session in who for who in contexts.values())


def test_no_tool_leaves_its_stage_and_no_author_validates(cycle: PlayedCycle) -> None:
    place, playing = cycle.place, cycle.playing
    results = given(playing)
    source, wrong_stage, _, _, _, both, _, spec, handed_in, validated, unknown, _, removed = results[1:14]
    assert "Put back: tests/test_x.py." in source
    assert "Put back: calc.py. calc.py: The plan is being made" in source
    assert f"next: write the plan to {PLAN_PATH}, then `tdd cycle advance`" in source
    assert "denied [cycle-plan]" in wrong_stage
    assert f"Put back: {SPEC_PATH}. " in both
    assert "source waits until the tests of SPEC-001 are validated and frozen" in both
    assert "denied [cycle-spec]" in spec
    assert "stage validate" in handed_in
    assert "denied [self-validation]" in validated
    assert "denied [unknown-context]" in unknown
    assert "The tests are being validated" in removed
    assert "from claim to verdict" not in removed, "that is another stage's"
    assert (cycle.tests, cycle.source) == (TESTS, STUB)
    refused = [event["actor"]["context"] for event in place.events("denied") if event["rule"] == REFUSED]
    (author,) = place.cli.ok("cycle", "status", "--json").json["cycle"]["workers"]["red"]
    assert [f"claude/agent/{context}" for context in refused] == [author, author], "also when it is resumed"
    assert "the cycle c1 on SPEC-001 is not finished: it is in stage validate" in playing.told()
