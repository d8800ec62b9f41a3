from __future__ import annotations

import json

from support.corpora import made_triple
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.formats import conversations
from verdigris.drivers.corpus.session_source import Spoken, Trajectory
from verdigris.models.protocol import Message, ToolCall


def test_a_session_is_one_line_that_holds_what_the_interface_takes(talked: CorpusContents) -> None:
    made = conversations.render_chat(talked)
    files = dict(made.files)
    [split] = [name for name, count in made.rows.items() if count]
    [line] = files[f"{split}.jsonl"].splitlines()
    document = json.loads(line)
    assert document.keys() == {"messages", "tools", "parallel_tool_calls"}
    assert document["messages"][0]["role"] == "system"
    called = [call for message in document["messages"] for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in document["messages"] if message["role"] == "tool"]
    assert [call["id"] for call in called] == answered
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in called)
    assert {call["function"]["name"] for call in called} <= {
        tool["function"]["name"] for tool in document["tools"]
    }
    [index] = files[f"{split}.index.jsonl"].splitlines()
    assert json.loads(index)["triples"] == [talked.triples[0].id]


def test_a_call_that_a_kill_left_open_is_answered_and_copied_replies_weigh_nothing() -> None:
    spoken = (
        Spoken(Message("assistant", "before"), copied=True),
        Spoken(Message("assistant", "", (ToolCall("c1", "read_file", "{}"),))),
    )
    one = Trajectory("s-1", "s", 1, 1, "", (), (), spoken, "", (made_triple(),))
    first, second, answer = conversations.line_of(one)["messages"]
    assert first["weight"] == 0
    assert "weight" not in second
    assert (answer["role"], answer["tool_call_id"]) == ("tool", "c1")
