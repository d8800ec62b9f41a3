from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from support.kata_run import PLANNED, SOURCE, TEST, after, source_text, start, test_text
from support.openai_server import Answer, Call, Server, serving
from verdigris.core.errors import ContextOverflow
from verdigris.drivers.machine.history import CODER, TESTER
from verdigris.models.protocol import Ask, ModelReply, ToolCall
from verdigris.models.providers import Endpoint
from verdigris.models.remote import RemoteModel
from verdigris.models.roles.answer import RefusedAnswer, Say
from verdigris.models.roles.check import EditPlan, RoleStop
from verdigris.models.roles.context import Material, shrunk
from verdigris.models.roles.conversation import LOOKS, begin, edit, say
from verdigris.models.roles.prompt import Task
from verdigris.models.roles.teams import MACHINE

test_text.__test__ = False  # type: ignore[attr-defined]

TASK = Task(TESTER, 1)


@dataclass
class Script:
    replies: list[str | ModelReply]
    asks: list[Ask] = field(default_factory=list)
    name: str = "script"

    def ask(self, ask: Ask) -> ModelReply:
        self.asks.append(ask)
        reply = self.replies.pop(0)
        return ModelReply(reply) if isinstance(reply, str) else reply


def answered(*edits: dict[str, Any], **about: Any) -> str:
    made = {"verdict": "edit", "rationale": "the plan", "subject": "a test", "edits": list(edits), **about}
    return json.dumps(made)


WRITE = {"path": TEST, "action": "upsert", "content": test_text(1)}


LONG = "".join(f"x{n} = {n}\n" for n in range(4000))
REPLACED = answered({"path": SOURCE, "action": "upsert", "content": "x = 1\n"})
IMPLEMENTING = Task(CODER, 2)


def test_one_call_is_enough_for_a_model_that_is_sure() -> None:
    model = Script([answered(WRITE)])
    talk, made = edit(model, begin(start(), TASK))
    assert isinstance(made, EditPlan)
    assert made.changes == {TEST: test_text(1).encode()}
    assert (len(model.asks), talk.plan) == (1, "the plan")
    assert "answer with the edits now" in model.asks[0].messages[-1].content


@pytest.mark.parametrize("plan", [answered(), "First the empty string, then the rest."])
def test_a_plan_costs_a_call_and_no_attempt(plan: str) -> None:
    model = Script([plan, answered(WRITE)])
    talk, made = edit(model, begin(start(), TASK))
    assert isinstance(made, EditPlan)
    assert [message.role for message in model.asks[1].messages] == ["system", "user", "assistant", "user"]
    assert talk.plan in {"the plan", plan}


def test_a_model_that_only_plans_is_refused_in_the_end() -> None:
    model = Script([answered()] * (LOOKS + 1))
    _, refused = edit(model, begin(start(), TASK))
    assert isinstance(refused, RefusedAnswer)
    assert "`edits` is empty" in refused.reasons[0]


def test_an_attempt_is_told_its_own_failure_in_full_and_the_others_by_their_reasons() -> None:
    model = Script([answered(WRITE)] * 4)
    talk, _ = edit(model, begin(start(), TASK))
    for number in range(1, 4):
        talk, _ = edit(model, say(talk, f"Not accepted: failure {number} at length.", f"reason {number}"))
    last = model.asks[-1]
    assert [message.role for message in last.messages] == ["system", "user", "assistant", "user"]
    assert last.messages[:2] == model.asks[0].messages
    assert (last.tools, last.schema) == (model.asks[0].tools, model.asks[0].schema)
    said = last.messages[-1].content
    assert said.startswith("Not accepted: failure 3 at length.")
    assert "1. reason 1\n2. reason 2\n" in said


def test_a_bad_answer_goes_back_with_its_reason() -> None:
    model = Script(["Sure! {}", answered(WRITE)])
    talk, refused = edit(model, begin(start(), TASK))
    assert isinstance(refused, RefusedAnswer)
    assert isinstance(edit(model, talk)[1], EditPlan)
    assert "There is text before the JSON object" in model.asks[1].messages[-1].content
    assert model.asks[1].messages[-2].content == "Sure! {}"


def test_a_role_may_stop_at_once() -> None:
    model = Script([answered(verdict="kata-done", reason="all eight rules are shown")])
    assert edit(model, begin(start(), TASK))[1] == RoleStop(Say.KATA_DONE, "all eight rules are shown")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"verdict": "nothing-to-do", "reason": "lazy"}, "The tester cannot give the verdict"),
        ({"verdict": "kata-done", "rationale": ""}, "needs a `reason`"),
        ({"verdict": "test-is-right", "reason": "it is"}, "answers a test that came back"),
    ],
)
def test_a_verdict_that_cannot_be_meant_is_answered(said: dict[str, str], why: str) -> None:
    talk, refused = edit(Script([answered(**said)]), begin(start(), TASK))
    assert isinstance(refused, RefusedAnswer)
    assert why in talk.ask.messages[-1].content


def test_a_tester_whose_test_came_back_may_say_that_it_is_right() -> None:
    returned = replace(TASK, returned=True)
    model = Script([answered(verdict="test-is-right", reason="rule 3 says so")])
    assert edit(model, begin(start(), returned))[1] == RoleStop(Say.TEST_IS_RIGHT, "rule 3 says so")
    material = after(start(), "test: it", {TEST: test_text(1)})
    _, refused = edit(Script([answered(WRITE)]), begin(material, returned))
    assert isinstance(refused, RefusedAnswer)
    assert "answer test-is-right" in refused.reasons[0]


def test_an_empty_and_an_endless_answer_are_shown_again_in_a_bearable_form() -> None:
    model = Script(["", "blah { " * 50_000, answered(WRITE)])
    talk, _ = edit(model, begin(start(), TASK))
    talk, _ = edit(model, talk)
    edit(model, talk)
    own = [ask.messages[2].content for ask in model.asks[1:]]
    assert own[0] == "(no answer)"
    assert len(own[1]) < 60_000


def test_files_that_are_asked_for_are_shown_and_the_others_are_answered() -> None:
    material = replace(start(4_000), files={SOURCE: LONG, ".env": "hush\n", "src/x/it.py": "x = 1\n"})
    model = Script([answered(read=[SOURCE, ".env", "it.py"]), REPLACED])
    talk, made = edit(model, begin(material, IMPLEMENTING, tools=False))
    assert isinstance(made, EditPlan)
    assert SOURCE in talk.known
    shown = model.asks[1].messages[-1].content
    assert LONG in shown
    assert "There is no file it.py. Files of that name: src/x/it.py." in shown
    assert ".env may not be read." in shown
    assert "hush" not in shown


def test_a_file_that_was_replaced_unseen_is_shown_with_the_refusal() -> None:
    material = replace(start(4_000), files={SOURCE: LONG})
    model = Script([REPLACED, REPLACED])
    talk, refused = edit(model, begin(material, IMPLEMENTING))
    assert isinstance(refused, RefusedAnswer)
    assert isinstance(edit(model, talk)[1], EditPlan)
    assert LONG in model.asks[1].messages[-1].content


def test_a_file_that_a_tool_gave_is_known() -> None:
    material = replace(start(4_000), files={SOURCE: LONG})
    reading = ModelReply("", (ToolCall("c", "read_file", json.dumps({"path": SOURCE})),))
    talk, made = edit(Script([reading, REPLACED]), begin(material, IMPLEMENTING))
    assert isinstance(made, EditPlan)
    assert SOURCE in talk.known
    assert len(talk.exchanges) == 2


def test_a_model_that_only_calls_tools_is_not_asked_for_ever() -> None:
    reading = ModelReply("", (ToolCall("c", "list_files", json.dumps({"glob": "**"})),))
    model = Script([reading] * 40)
    talk = begin(start(), TASK)
    for _ in range(5):
        talk, refused = edit(model, talk)
        assert isinstance(refused, RefusedAnswer)
        assert "You called a tool once more instead of answering" in refused.reasons[0]
    assert len(model.asks) <= 13
    assert model.asks[-1].tools == ()


def test_the_task_comes_last_and_all_else_is_the_same_for_every_role() -> None:
    material = after(start(), "test: x", {TEST: test_text(1)})
    tasks = [Task(role, 3, reds=("test_x: failed",), notes=("mind the gap",)) for role in MACHINE.roles]
    asks = [begin(material, task).ask for task in tasks]
    assert len({ask.messages[0] for ask in asks}) == 1
    shared, ends = zip(*(ask.messages[1].content.split("# Your task") for ask in asks), strict=True)
    assert len(set(shared)) == 1
    for task, end in zip(tasks, ends, strict=True):
        assert f"You are the {task.role}, in step 3." in end
        assert "Red now:\ntest_x: failed" in end
        assert "mind the gap" in end


# -- over HTTP -----------------------------------------------------------------------------------


EDITS = [{"path": TEST, "action": "upsert", "content": test_text(1)}]
EDITED = json.dumps({"verdict": "edit", "rationale": "why", "subject": "a test", "edits": EDITS})


def remote(server: Server) -> RemoteModel:
    return RemoteModel(Endpoint("scripted", "scripted", server.url), environ={}, sleep=lambda _: None)


def test_a_step_that_reads_blunders_and_succeeds() -> None:
    reading = Answer(calls=(Call("read_file", {"path": "pyproject.toml"}, "c1"),))
    script: list[str | Answer] = [reading, PLANNED, f"Here you are: {EDITED}", f"```json\n{EDITED}\n```"]
    with serving(script) as server, remote(server) as model:
        talk, refused = edit(model, begin(start(), TASK))
        talk, made = edit(model, talk)
    assert isinstance(refused, RefusedAnswer)
    assert isinstance(made, EditPlan)
    assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == [
        "list_files",
        "read_file",
        "search",
    ]
    cached = [each.reply.usage.cached / each.reply.usage.prompt for each in talk.exchanges[1:]]
    assert min(cached) > 0.85


def test_a_server_that_knows_neither_tools_nor_schemas_is_asked_without() -> None:
    plain = frozenset({"tools", "response_format"})
    with serving([PLANNED, EDITED], without=plain) as server, remote(server) as model:
        _, made = edit(model, begin(start(), TASK))
    assert isinstance(made, EditPlan)
    assert "tools" not in server.requests[-1].body


def test_material_is_shrunk_until_a_small_context_takes_it() -> None:
    files = {f"src/m{n}.py": source_text(n) for n in range(80)}
    material: Material = replace(start(), files=files)
    with serving(lambda _: EDITED, context=6_000) as server, remote(server) as model:
        with pytest.raises(ContextOverflow):
            edit(model, begin(material, TASK))
        talk, _ = edit(model, begin(shrunk(material, 0.2), TASK))
    assert talk.plan
