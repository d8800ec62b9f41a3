from __future__ import annotations

import pytest

from verdigris.models.protocol import Ask, Message, ToolCall, ToolSpec
from verdigris.models.providers import Endpoint
from verdigris.models.request import (
    Abilities,
    Counter,
    Feature,
    Share,
    estimate,
    estimate_ask,
    features_of,
    prefix_share,
    prompt_text,
    request_of,
    whole_share,
)

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


# -- tokens --------------------------------------------------------------------------------------


PYTHON = '''def add(numbers: str) -> int:
    """The sum of the numbers, which commas or line ends part."""
    if not numbers:
        return 0
    parts = [int(part) for part in numbers.replace("\\n", ",").split(",")]
    negatives = [part for part in parts if part < 0]
    if negatives:
        raise ValueError(f"negatives not allowed: {negatives}")
    return sum(part for part in parts if part <= 1000)
'''
PROSE = "The quick brown fox jumps over the lazy dog, and nobody in the village could say why it did so."
RUST = 'assert_eq!(score(&[10, 3, 4]), 24, "a strike counts the next two rolls");\n'
CHINESE = "今天天气很好，我们一起去公园散步吧。"


@pytest.mark.parametrize(
    ("text", "o200k"),  # counted by OpenAI's tokenizer of that name
    [(PYTHON, 103), (PROSE, 22), (RUST, 26), (CHINESE, 13)],
    ids=["python", "prose", "rust", "chinese"],
)
def test_an_estimate_is_near_what_a_tokenizer_counts(text: str, o200k: int) -> None:
    assert 0.8 <= estimate(text) / o200k <= 1.25


def test_nothing_is_no_token_and_bytes_that_are_no_text_can_be_counted() -> None:
    assert estimate("") == 0
    assert estimate("\udcff\x00") > 0


def ask(*texts: str, tools: tuple[ToolSpec, ...] = ()) -> Ask:
    return Ask(tuple(Message("user", text) for text in texts), tools=tools)


def test_a_prompt_begins_with_the_tools_and_holds_every_call() -> None:
    said = Message("assistant", "", (ToolCall("c1", "read_file", '{"path": "a.py"}'),))
    answered = Message("tool", "text of a", call_id="c1")
    text = prompt_text(Ask((said, answered), tools=(ToolSpec("read_file", "Reads.", {"type": "object"}),)))
    assert text.startswith("read_file\nReads.")
    assert text.index('{"path": "a.py"}') < text.index("text of a")


def test_the_share_is_what_follows_the_call_before_from_the_beginning() -> None:
    first, second = ask("same " * 90), ask("same " * 90, "new " * 10)
    assert prefix_share(None, first).shared == 0
    assert prefix_share(first, first).share == 1
    assert 0.85 < prefix_share(first, second).share < 0.95
    assert prefix_share(first, ask("other " + "same " * 90)).share < 0.1


def test_tools_that_come_and_go_cost_the_whole_prefix() -> None:
    tools = (ToolSpec("read_file", "Reads.", {}),)
    assert prefix_share(ask("same " * 90), ask("same " * 90, tools=tools)).share < 0.1


def test_shares_of_many_calls_weigh_by_their_size() -> None:
    assert whole_share([Share(100, 0), Share(300, 300)]).share == 0.75
    assert Share(0, 0).share == 0


def test_a_counter_follows_what_the_server_reports() -> None:
    counter, asked = Counter(), ask(PROSE * 10)
    assert counter.count_ask(asked) == estimate_ask(asked)
    counter.learn(100, 150)
    assert counter.ratio == pytest.approx(1.5)
    counter.learn(0, 5)
    assert counter.count(PROSE) == round(estimate(PROSE) * 1.5)
    for _ in range(5):
        counter.learn(100, 100)
    assert counter.ratio < 1.02


def test_a_server_that_reports_nonsense_does_not_lead_far_astray() -> None:
    counter = Counter()
    counter.learn(10, 1_000_000)
    assert counter.ratio == 4
