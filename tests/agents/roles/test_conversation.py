from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from support.kata_run import PLANNED, SOURCE, TEST, start, test_text
from verdigris.agents.protocol import Ask, Reply, ToolCall
from verdigris.agents.roles.check import EditPlan, Stop
from verdigris.agents.roles.conversation import begin, edit, plan, say
from verdigris.agents.roles.material import Commit
from verdigris.agents.roles.plan import Refused, Say
from verdigris.agents.roles.prompting import Task
from verdigris.agents.roles.role import Role

test_text.__test__ = False  # type: ignore[attr-defined]

TASK = Task(Role.TESTER, 1)


@dataclass
class Script:
    replies: list[str | Reply]
    asks: list[Ask] = field(default_factory=list)
    name: str = "script"

    def ask(self, ask: Ask) -> Reply:
        self.asks.append(ask)
        reply = self.replies.pop(0)
        return Reply(reply) if isinstance(reply, str) else reply


def answered(*edits: dict[str, Any], **about: Any) -> str:
    made = {"verdict": "edit", "rationale": "the plan", "subject": "a test", "edits": list(edits), **about}
    return json.dumps(made)


WRITE = {"path": TEST, "action": "upsert", "content": test_text(1)}


def test_plan_then_edit() -> None:
    model = Script([answered(), answered(WRITE)])
    talk, stop = plan(model, begin(start(), TASK))
    assert stop is None
    assert talk.plan == "the plan"
    talk, made = edit(model, talk)
    assert isinstance(made, EditPlan)
    assert made.changes == {TEST: test_text(1).encode()}
    assert [message.role for message in model.asks[1].messages] == ["system", "user", "assistant", "user"]
    assert len(talk.exchanges) == 2


def test_each_question_begins_as_the_one_before_and_offers_the_same_tools_and_schema() -> None:
    model = Script([answered(), "junk", answered(WRITE), answered(WRITE)])
    talk, _ = plan(model, begin(start(), TASK))
    talk, _ = edit(model, talk)
    talk, _ = edit(model, talk)
    edit(model, say(talk, "Not accepted."))
    for one, two in zip(model.asks, model.asks[1:], strict=False):
        assert two.messages[: len(one.messages)] == one.messages
        assert (two.tools, two.schema, two.schema_name) == (one.tools, one.schema, one.schema_name)
    assert model.asks[3].messages[-1].content == "Not accepted."


def test_a_bad_answer_goes_back_with_its_reason() -> None:
    model = Script([answered(), "Sure! {}", answered(WRITE)])
    talk, _ = plan(model, begin(start(), TASK))
    talk, refused = edit(model, talk)
    assert isinstance(refused, Refused)
    talk, made = edit(model, talk)
    assert isinstance(made, EditPlan)
    assert "There is text before the JSON object" in model.asks[2].messages[-1].content
    assert model.asks[2].messages[-2].content == "Sure! {}"


def test_a_role_may_stop_at_the_plan() -> None:
    model = Script([answered(verdict="kata-done", reason="all eight rules are shown")])
    _, stop = plan(model, begin(start(), TASK))
    assert stop == Stop(Say.KATA_DONE, "all eight rules are shown")


def test_a_plan_that_comes_with_its_edits_needs_no_second_question() -> None:
    model = Script([answered(WRITE), answered(WRITE)])
    talk, stop = plan(model, begin(start(), TASK))
    talk, made = edit(model, talk)
    assert stop is None
    assert isinstance(made, EditPlan)
    assert len(model.asks) == 1
    edit(model, say(talk, "Not accepted."))
    assert [message.content for message in model.asks[1].messages[2:]] == [answered(WRITE), "Not accepted."]


def test_a_plan_with_bad_edits_is_asked_for_good_ones() -> None:
    model = Script([answered({**WRITE, "path": "/etc/passwd"}), answered(WRITE)])
    talk, _ = plan(model, begin(start(), TASK))
    assert isinstance(edit(model, talk)[1], EditPlan)
    assert len(model.asks) == 2


def test_an_empty_and_an_endless_answer_are_shown_again_in_a_bearable_form() -> None:
    model = Script(["", "blah " * 50_000, answered(WRITE)])
    talk, _ = plan(model, begin(start(), TASK))
    talk, _ = edit(model, talk)
    edit(model, talk)
    own = [message.content for message in model.asks[2].messages if message.role == "assistant"]
    assert own[0] == "(no answer)"
    assert len(own[1]) < 50_000


def test_a_verdict_that_is_not_the_roles_does_not_stop_it_at_the_plan() -> None:
    model = Script([answered(verdict="nothing-to-do", reason="lazy"), answered(WRITE)])
    talk, stop = plan(model, begin(start(), TASK))
    assert stop is None
    assert isinstance(edit(model, talk)[1], EditPlan)


def test_files_that_the_plan_asks_for_are_shown_before_the_edit() -> None:
    long = "".join(f"x{n} = {n}\n" for n in range(4000))
    material = replace(start(4_000), ground={SOURCE: long, ".env": "hush\n"})
    wanted = answered(read=[SOURCE, ".env", "none.py"])
    replaced = answered({"path": SOURCE, "action": "upsert", "content": "x = 1\n"})
    model = Script([wanted, replaced])
    talk, _ = plan(model, begin(material, Task(Role.IMPLEMENTOR, 2), tools=False))
    assert SOURCE in talk.known
    assert isinstance(edit(model, talk)[1], EditPlan)
    shown = model.asks[1].messages[-1].content
    assert long in shown
    assert "hush" not in shown
    assert model.asks[0].tools == ()


def test_a_file_that_was_replaced_unseen_is_shown_with_the_refusal() -> None:
    long = "".join(f"x{n} = {n}\n" for n in range(4000))
    material = replace(start(4_000), ground={SOURCE: long})
    replaced = answered({"path": SOURCE, "action": "upsert", "content": "x = 1\n"})
    model = Script(["just do it", replaced, replaced])
    talk, _ = plan(model, begin(material, Task(Role.IMPLEMENTOR, 2)))
    talk, refused = edit(model, talk)
    assert isinstance(refused, Refused)
    assert isinstance(edit(model, talk)[1], EditPlan)
    assert long in model.asks[2].messages[-1].content


def test_a_file_that_a_tool_gave_is_known() -> None:
    long = "".join(f"x{n} = {n}\n" for n in range(4000))
    material = replace(start(4_000), ground={SOURCE: long})
    reading = Reply("", (ToolCall("c", "read_file", json.dumps({"path": SOURCE})),))
    talk, _ = plan(Script([reading, PLANNED]), begin(material, Task(Role.IMPLEMENTOR, 2)))
    assert SOURCE in talk.known
    assert len(talk.exchanges) == 2


def test_an_edit_that_only_asks_for_files_gets_them() -> None:
    long = "".join(f"x{n} = {n}\n" for n in range(4000))
    material = replace(start(4_000), ground={SOURCE: long})
    model = Script(["do it", answered(read=[SOURCE])])
    talk, _ = plan(model, begin(material, Task(Role.IMPLEMENTOR, 2)))
    talk, refused = edit(model, talk)
    assert isinstance(refused, Refused)
    assert long in talk.ask.messages[-1].content


def test_the_task_comes_last_and_all_else_is_the_same_for_every_role() -> None:
    material = replace(start(), commits=(Commit("test: x", {TEST: test_text(1)}),))
    tasks = [Task(role, 3, reds=("test_x: failed",), notes=("mind the gap",)) for role in Role]
    asks = [begin(material, task).ask for task in tasks]
    assert len({ask.messages[0] for ask in asks}) == 1
    shared, ends = zip(*(ask.messages[1].content.split("# Your task") for ask in asks), strict=True)
    assert len(set(shared)) == 1
    for task, end in zip(tasks, ends, strict=True):
        assert f"You are the {task.role}, in step 3." in end
        assert "Red now:\ntest_x: failed" in end
        assert "mind the gap" in end
