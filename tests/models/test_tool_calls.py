from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.openai_server import Answer, Call, serving
from verdigris.core.errors import ModelMisused
from verdigris.core.settings import ModelSettings
from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec
from verdigris.models.providers import Scrubber, endpoint_of
from verdigris.models.recording import Recorded, Recorder, Recording
from verdigris.models.remote import RemoteModel
from verdigris.models.request import Abilities, prompt_text, request_of
from verdigris.models.tool_calls import BadArguments, cancel_calls, read_arguments, sendable_calls

EDIT = ToolSpec(
    "edit_file",
    "Replaces a text.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "search": {"type": "string"},
            "replace": {"type": "string"},
            "line": {"type": "integer"},
            "more": {"type": "boolean"},
            "ids": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["path", "search", "replace"],
    },
)
READ = ToolSpec(
    "read_file",
    "Reads.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
GOOD = {"path": "a.py", "search": "1", "replace": "2"}


def read(arguments: str, finish: str = "tool_calls") -> object:
    return read_arguments(ToolCall("c", "edit_file", arguments), EDIT, finish=finish)


def words(arguments: str, finish: str = "tool_calls") -> str:
    bad = read(arguments, finish)
    assert isinstance(bad, BadArguments), bad
    return bad.words


def test_sound_arguments_are_read() -> None:
    assert read(json.dumps({**GOOD, "more": True, "ids": ["t"], "line": 3})) == {
        **GOOD,
        "more": True,
        "ids": ["t"],
        "line": 3,
    }


def test_null_for_what_is_optional_is_as_if_it_were_not_there() -> None:
    assert read(json.dumps({**GOOD, "more": None})) == GOOD


def test_slips_that_leave_no_doubt_are_mended() -> None:
    assert read('{"path": "a.py", "search": "1", "replace": "2",}') == GOOD
    assert read('{"path": "a.py", "search": "1\n1", "replace": "2"}') == {**GOOD, "search": "1\n1"}
    assert read(json.dumps(json.dumps(GOOD))) == GOOD


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "empty"),
        ("{}", "path"),
        ("[1]", "JSON object"),
        ("not json", "JSON"),
        (json.dumps({**GOOD, "path": 3}), "path has to be a text"),
        (json.dumps({**GOOD, "more": "yes"}), "more has to be true or false"),
        (json.dumps({**GOOD, "line": 1.5}), "line has to be a whole number"),
        (json.dumps({**GOOD, "ids": [1]}), "ids has to be a list of texts"),
        (json.dumps({**GOOD, "file": "b.py"}), "file"),
        ('{"path": "a.py", "path": "b.py", "search": "1", "replace": "2"}', "twice"),
    ],
)
def test_arguments_that_cannot_be_used_are_a_value_with_the_reason(arguments: str, said: str) -> None:
    told = words(arguments)
    assert said in told
    assert "edit_file" in told


def test_cut_arguments_are_never_completed_by_guessing() -> None:
    told = words('{"path": "a.py", "search": "1", "replace": "2', "length")
    assert "cut off" in told
    assert "smaller" in told


def test_a_tool_that_needs_nothing_may_be_called_with_nothing() -> None:
    tool = ToolSpec("refactor_end", "Ends.", {"type": "object", "properties": {}, "required": []})
    assert read_arguments(ToolCall("c", "refactor_end", ""), tool) == {}


def test_deeply_nested_junk_is_a_value_too() -> None:
    assert isinstance(read("[" * 100_000), BadArguments)


def test_tools_are_sent_in_the_order_of_their_names_whatever_the_order_given() -> None:
    endpoint = endpoint_of("m", ModelSettings(base_url="http://localhost/v1"))
    one, other = (Ask((Message("user", "hi"),), tools=tools) for tools in ((READ, EDIT), (EDIT, READ)))
    sent = request_of(endpoint, one, Abilities())
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["edit_file", "read_file"]
    assert json.dumps(sent) == json.dumps(request_of(endpoint, other, Abilities()))
    assert prompt_text(one) == prompt_text(other)


def test_calls_whose_arguments_are_no_object_are_sent_back_empty() -> None:
    calls = (ToolCall("a", "read_file", '{"path": "x"}'), ToolCall("b", "read_file", '{"pa'))
    assert [call.arguments for call in sendable_calls(calls)] == ['{"path": "x"}', "{}"]


def test_two_calls_of_one_reply_never_share_an_id() -> None:
    calls = tuple(ToolCall("same", "read_file", "{}") for _ in range(3))
    assert len({call.id for call in sendable_calls(calls)}) == 3


def test_every_open_call_can_be_answered_with_why_it_was_not_carried_out() -> None:
    calls = (ToolCall("a", "read_file", "{}"), ToolCall("b", "search", "{}"))
    said = (
        Message("user", "go"),
        Message("assistant", "", calls),
        Message("tool", "the text", call_id="a"),
    )
    assert cancel_calls(said, "The session was interrupted.") == (
        Message("tool", "The session was interrupted.", call_id="b"),
    )
    assert cancel_calls((Message("user", "go"),), "why") == ()


def remote(url: str) -> RemoteModel:
    return RemoteModel(endpoint_of("scripted", ModelSettings(base_url=url)), environ={}, sleep=lambda _: None)


def test_a_server_without_tools_cannot_serve_who_needs_them() -> None:
    ask = Ask((Message("user", "go"),), tools=(READ,), needs_tools=True)
    with serving(["hi"], without=frozenset({"tools"})) as server, remote(server.url) as model:
        with pytest.raises(ModelMisused, match="does not take tools"):
            model.ask(ask)
        assert len(server.requests) == 1


def test_a_conversation_with_calls_is_recorded_and_replayed(tmp_path: Path) -> None:
    call = Call("read_file", {"path": "a.py"}, "c1")
    first = Ask((Message("user", "go"),), tools=(READ,), needs_tools=True)
    file = tmp_path / "talk.jsonl"
    with serving([Answer("", (call,)), "done"]) as server, remote(server.url) as model:
        recorded = Recorded(model, Recorder(file, Scrubber(())), "step-1-agent")
        reply = recorded.ask(first)
        answered = Ask(
            (*first.messages, Message("assistant", "", reply.calls), Message("tool", "1", call_id="c1")),
            tools=(READ,),
        )
        recorded.ask(answered)
    sent = server.requests[1].messages
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"
    recording = Recording(file)
    replay = recording.at("step-1-agent")
    assert replay.ask(first).calls == (ToolCall("c1", "read_file", '{"path": "a.py"}'),)
    assert replay.ask(answered).text == "done"
    assert recording.drift == ""


def test_a_cache_that_the_server_says_nothing_about_is_unknown() -> None:
    with serving([Answer("hi", usage=False)]) as server, remote(server.url) as model:
        assert not model.ask(Ask((Message("user", "go"),))).usage.cache_known
    with serving(["hi"]) as server, remote(server.url) as model:
        assert model.ask(Ask((Message("user", "go"),))).usage.cache_known
