from __future__ import annotations

from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec
from verdigris.models.providers import Endpoint
from verdigris.models.request import Abilities, Feature, features_of, request_of

ENDPOINT = Endpoint("openai:m", "m", "http://localhost/v1", temperature=0.0, max_tokens=50)
TOOL = ToolSpec("read_file", "Reads a file.", {"type": "object"})
ASK = Ask((Message("user", "hi"),), {"type": "object"}, "plan", (TOOL,))


def test_everything_that_is_asked_is_sent() -> None:
    assert request_of(ENDPOINT, ASK, Abilities()) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.0,
        "max_tokens": 50,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Reads a file.",
                    "parameters": {"type": "object"},
                },
            }
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "plan", "schema": {"type": "object"}, "strict": True},
        },
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_what_is_not_asked_is_not_sent() -> None:
    sent = request_of(Endpoint("m", "m", "http://x/v1"), Ask((Message("user", "hi"),)), Abilities())
    assert set(sent) == {"model", "messages", "stream", "stream_options"}


def test_a_schema_becomes_any_json_and_then_plain_text() -> None:
    any_json = Abilities().without("format")
    assert request_of(ENDPOINT, ASK, any_json)["response_format"] == {"type": "json_object"}
    assert "response_format" not in request_of(ENDPOINT, ASK, any_json.without("format"))


def test_the_limit_has_two_words() -> None:
    other = Abilities().without("max_tokens")
    assert request_of(ENDPOINT, ASK, other)["max_completion_tokens"] == 50
    assert not {"max_tokens", "max_completion_tokens"} & set(
        request_of(ENDPOINT, ASK, other.without("max_tokens"))
    )


def test_a_server_can_refuse_until_nothing_is_left_to_refuse() -> None:
    abilities, refused = Abilities(), list[Feature]()
    while features := features_of(request_of(ENDPOINT, ASK, abilities)):
        refused.append(features[0])
        abilities = abilities.without(features[0])
    assert refused.count("format") == refused.count("max_tokens") == 2
    assert set(request_of(ENDPOINT, ASK, abilities)) == {"model", "messages"}


def test_tool_calls_and_their_answers_are_sent_back() -> None:
    call = ToolCall("c1", "read_file", '{"path": "a"}')
    ask = Ask((Message("assistant", "", (call,)), Message("tool", "text", call_id="c1")))
    assert request_of(ENDPOINT, ask, Abilities())["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read_file", "arguments": '{"path": "a"}'},
                }
            ],
        },
        {"role": "tool", "content": "text", "tool_call_id": "c1"},
    ]


def test_a_name_that_is_no_utf8_can_be_sent() -> None:
    sent = request_of(ENDPOINT, Ask((Message("user", "caf\udce9.py"),)), Abilities())
    assert sent["messages"][0]["content"].encode()
